import { create } from "@bufbuild/protobuf";
import { type AgentCardJson, AgentCardSchema } from "nuncio/types";
import { describe, expect, test } from "vitest";
import { decodeJson } from "../src/a2a/codec.js";
import { lintCard } from "../src/check/lint-card.js";
import { createFindings } from "../src/check/report.js";

const good: AgentCardJson = {
  name: "Good",
  description: "Has nothing wrong with it",
  version: "1",
  supportedInterfaces: [
    { url: "https://agent.example/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: "agent.example:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
    { url: "wss://agent.example/ws", protocolBinding: "https://example.com/bindings/ws/v1", protocolVersion: "1.0" },
  ],
  provider: { organization: "Example", url: "https://example.com" },
  capabilities: { streaming: true, extensions: [{ uri: "https://example.com/ext/v1" }] },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: "header", name: "x-key" } },
    oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://id.example/.well-known/openid-configuration" } },
    oauth: {
      oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: "https://id.example/token", scopes: {} } } },
    },
  },
  securityRequirements: [{ schemes: { key: { list: [] } } }, { schemes: { oidc: { list: ["openid"] } } }],
  defaultInputModes: ["text/plain", "image/*"],
  defaultOutputModes: ["application/vnd.geo+json; charset=utf-8"],
  skills: [{ id: "one", name: "One", description: "One", tags: ["one"] }],
  signatures: [
    {
      protected: Buffer.from('{"alg":"ES256","typ":"JOSE","kid":"k"}').toString("base64url"),
      signature: "QFdkNLNszlGj3z3u0YQGt_T9LixY3qtdQpZmsTdDHDe3fXV9y9-B3m2-XgCpzuhiLt8E0tV6HXoZKHv4GtHgKQ",
    },
  ],
};

function failed(change: Partial<AgentCardJson>, url = "https://agent.example/.well-known/agent-card.json"): string[] {
  const findings = createFindings();
  const card = decodeJson(AgentCardSchema, { ...good, ...change }, { from: "peer" });
  lintCard(findings.at("card"), { url, json: {}, card });
  return findings
    .list()
    .filter(({ verdict }) => verdict === "failed")
    .map(({ rule, seen }) => `${rule}: ${seen.join("; ")}`);
}

const at = (url: string, protocolBinding = "JSONRPC", protocolVersion = "1.0") => ({
  supportedInterfaces: [{ url, protocolBinding, protocolVersion }],
});
const signed = (header: string, signature = "abcd") => ({
  signatures: [{ protected: Buffer.from(header).toString("base64url"), signature }],
});

describe("a card", () => {
  test("that is good has nothing wrong with it, and its signatures aren't said to be verified", () => {
    expect(failed({})).toEqual([]);
    const findings = createFindings();
    lintCard(findings.at("card"), { url: "https://a.example/", json: {}, card: decodeJson(AgentCardSchema, good) });
    expect(findings.list()).toContainEqual(
      expect.objectContaining({ rule: "card.signatures.verified", verdict: "not-checked" }),
    );
  });

  test.each<[string, Partial<AgentCardJson>, string]>([
    ["no interface", { supportedInterfaces: [] }, "card.interfaces: supportedInterfaces is empty"],
    [
      "one twice",
      { supportedInterfaces: [...at("https://a.b/").supportedInterfaces, ...at("https://a.b/").supportedInterfaces] },
      "card.interfaces: JSONRPC 1.0 https://a.b/ is named twice",
    ],
    ["a relative URL", at("/a2a"), 'card.urls: "/a2a" of JSONRPC'],
    ["a URL with a password", at("https://a:b@c.d/"), "card.urls"],
    ["another scheme", at("file:///etc/passwd"), "card.urls"],
    [
      "loopback, seen from afar",
      at("https://localhost:8080/a2a"),
      "card.elsewhere: https://localhost:8080/a2a, in a card from https://agent.example",
    ],
    ["clear text", at("http://agent.example/a2a"), "card.tls: http://agent.example/a2a"],
    ["a binding that is no name", at("https://a.b/", "websocket"), 'card.bindings: "websocket"'],
    ["a patch version", at("https://a.b/", "JSONRPC", "1.0.1"), 'card.versions: "1.0.1"'],
    ["two skills of one id", { skills: [...(good.skills ?? []), ...(good.skills ?? [])] }, "card.skill-ids: one twice"],
    ["no skills", { skills: [] }, "card.lists: skills: empty"],
    ["no modes", { defaultInputModes: [] }, "card.lists: defaultInputModes: empty"],
    ["modes that are words", { defaultOutputModes: ["text", "image/png"] }, 'card.modes: "text"'],
    [
      "a requirement of nothing",
      { securityRequirements: [{ schemes: { other: {} } }] },
      "card.security: the card requires other, which isn't declared",
    ],
    [
      "a skill's requirement of nothing",
      {
        skills: [
          { id: "s", name: "s", description: "s", tags: ["s"], securityRequirements: [{ schemes: { no: {} } }] },
        ],
      },
      "card.security: the skill s requires no, which isn't declared",
    ],
    [
      "a key nowhere",
      { securitySchemes: { ...good.securitySchemes, key: { apiKeySecurityScheme: { location: "body", name: "k" } } } },
      'card.schemes: key: location "body"',
    ],
    [
      "OAuth without a flow",
      { securitySchemes: { ...good.securitySchemes, oauth: { oauth2SecurityScheme: {} } } } as Partial<AgentCardJson>,
      "card.schemes: oauth: no flow",
    ],
    [
      "a token from nowhere",
      {
        securitySchemes: {
          ...good.securitySchemes,
          oauth: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: "token", scopes: {} } } } },
        },
      },
      'card.schemes: oauth: tokenUrl "token"',
    ],
    [
      "a scheme of no kind",
      { securitySchemes: { ...good.securitySchemes, x: {} } },
      "card.schemes: x: none of the known kinds",
    ],
    [
      "an extension twice",
      { capabilities: { extensions: [{ uri: "urn:x" }, { uri: "urn:x" }] } },
      'card.extensions: "urn:x"',
    ],
    ["an extension of no URI", { capabilities: { extensions: [{ uri: "x" }] } }, 'card.extensions: "x"'],
    ["a link that is none", { documentationUrl: "docs/" }, 'card.links: documentationUrl "docs/"'],
    ["a header that is null", signed("null"), "card.signatures: signatures[0]: protected is no JSON object"],
    ["a header that is a list", signed("[]"), "card.signatures: signatures[0]: protected is no JSON object"],
    [
      "a signature of none",
      signed('{"alg":"none","typ":"JOSE","kid":"k"}'),
      "card.signatures: signatures[0]: alg none, which proves nothing about who signed",
    ],
    ["a shared secret", signed('{"alg":"HS256","typ":"JOSE","kid":"k"}'), "card.signatures: signatures[0]: alg HS256"],
    ["no kid", signed('{"alg":"ES256","typ":"JOSE"}'), "card.signatures: signatures[0]: no kid"],
    ["another typ", signed('{"alg":"ES256","typ":"JWT","kid":"k"}'), 'card.signatures.typ: typ "JWT"'],
    [
      "a signature in base64",
      signed('{"alg":"ES256","typ":"JOSE","kid":"k"}', "a+/="),
      "card.signatures: signatures[0]: signature is no base64url",
    ],
  ])("with %s is told so", (_, change, said) => {
    const all = failed(change);
    expect(all).toHaveLength(1);
    expect(all[0]).toContain(said);
  });

  test("of loopback may be in the clear, and say so", () => {
    expect(failed(at("http://127.0.0.1:8080/a2a"), "http://localhost:8080/.well-known/agent-card.json")).toEqual([]);
  });

  test("that is empty costs no crash", () => {
    const findings = createFindings();
    lintCard(findings.at("card"), { url: "http://x/", json: {}, card: create(AgentCardSchema) });
    expect(findings.list().length).toBeGreaterThan(3);
  });
});
