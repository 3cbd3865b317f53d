import { agent, serve } from "nuncio";
import { connect } from "nuncio/client";
import { describe, expect, test } from "vitest";
import { http, startRawServer } from "../support/raw-server.js";
import { served } from "../support/served.js";
import { BINDINGS, quiet, says } from "../support/small-agents.js";

const WELL_KNOWN = "/.well-known/agent-card.json";
const small = agent({ name: "Small", description: "Says x", reply: () => "x" });
const on = served({}, small);
const cardOf = async (url: string) => (await (await fetch(`${url}${WELL_KNOWN}`)).json()) as Record<string, unknown>;

test("C-01: the card of the smallest agent has every REQUIRED member, and its lists are lists", async () => {
  const card = await cardOf(on.url);
  for (const member of ["name", "description", "version", "capabilities"]) expect(card[member]).toBeTruthy();
  for (const list of ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"]) {
    expect([list, Array.isArray(card[list])]).toEqual([list, true]);
    expect((card[list] as unknown[]).length).toBeGreaterThan(0);
  }
  for (const skill of card.skills as Record<string, unknown>[])
    for (const member of ["id", "name", "description", "tags"]) expect(skill[member]).toBeTruthy();
});

describe("C-01: a client of a card that isn't whole", () => {
  async function finding(card: object) {
    const server = await startRawServer(() => http(200, "application/json", JSON.stringify(card)));
    try {
      return await connect(server.url);
    } finally {
      await server.close();
    }
  }

  test("takes null for absent", async () => {
    const interfaces = [{ url: "http://127.0.0.1:1/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    const card = {
      name: "n",
      supportedInterfaces: interfaces,
      skills: null,
      defaultInputModes: null,
      capabilities: null,
    };
    const peer = await finding(card);
    expect([peer.card.skills, peer.card.defaultInputModes, peer.card.capabilities]).toEqual([[], [], undefined]);
  });

  test.each([
    [{}, "name"],
    [{ name: "n", supportedInterfaces: null }, "supportedInterfaces"],
    [{ name: "n", skills: "none" }, "skills"],
  ])("says what is wrong with %j", async (card, member) => {
    await expect(finding(card)).rejects.toMatchObject({
      outcome: "not-sent",
      message: expect.stringContaining(member),
    });
  });
});

test("C-02: behind a proxy the card has the public address, and no other header changes it", async () => {
  await using server = await serve(small, { ...quiet, publicUrl: "https://agent.example/base" });
  const forged = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http", forwarded: "host=evil.example" };
  const card = (await (await fetch(`${server.url}${WELL_KNOWN}`, { headers: forged })).json()) as {
    supportedInterfaces: { url: string }[];
  };
  expect(card.supportedInterfaces.map(({ url }) => url)).toEqual([
    "https://agent.example/base/a2a",
    "https://agent.example/base/a2a",
    "agent.example:443",
    "https://agent.example/base",
    "https://agent.example/base",
  ]);
});

test.each(BINDINGS)("C-03: the entry of the card for %s works, in its version and with its tenant", async (binding) => {
  await using server = await serve({ agents: { a: says("A"), b: says("B") } }, quiet);
  for (const name of ["a", "b"]) {
    const card = await cardOf(`${server.url}/agents/${name}`);
    await using peer = await connect(card as never, { bindings: [binding] });
    expect((await peer.send("x")).text).toBe(`${name.toUpperCase()}: x`);
  }
});

test("C-03: the card has one entry for each binding that is mounted, and no patch versions", async () => {
  const { supportedInterfaces } = (await cardOf(on.url)) as {
    supportedInterfaces: { protocolBinding: string; protocolVersion: string }[];
  };
  expect(
    supportedInterfaces.map(({ protocolBinding, protocolVersion }) => `${protocolBinding} ${protocolVersion}`),
  ).toEqual(
    ["JSONRPC", "HTTP+JSON", "GRPC", "urn:nuncio:binding:connect:v1", "urn:nuncio:binding:grpc-web:v1"].map(
      (name) => `${name} 1.0`,
    ),
  );
});

describe("C-04: an agent below a path", () => {
  test.each(["/agents/b", "/agents/b/", `/agents/b${WELL_KNOWN}`])("is found at %s", async (path) => {
    await using server = await serve({ agents: { a: says("A"), b: says("B") } }, quiet);
    await using peer = await connect(`${server.url}${path}`);
    expect(peer.card.name).toBe("B");
    expect((await peer.send("x")).text).toBe("B: x");
  });

  test("isn't found at a name that nobody has", async () => {
    await using server = await serve({ agents: { a: says("A"), b: says("B") } }, quiet);
    await expect(connect(`${server.url}/agents/c`)).rejects.toMatchObject({ outcome: "not-sent", status: 404 });
  });
});

test("C-06: the card is cacheable, and isn't sent twice to whoever has it", async () => {
  const first = await fetch(`${on.url}${WELL_KNOWN}`);
  const etag = first.headers.get("etag") ?? "";
  expect(first.headers.get("cache-control")).toMatch(/^public, max-age=\d+$/);
  const again = await fetch(`${on.url}${WELL_KNOWN}`, { headers: { "if-none-match": etag } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  const modified = first.headers.get("last-modified") ?? "";
  expect((await fetch(`${on.url}${WELL_KNOWN}`, { headers: { "if-modified-since": modified } })).status).toBe(304);
});

test("C-06: the extended card is kept by no cache", async () => {
  const extendedCard = { card: (_: unknown, card: object) => ({ ...card, description: "more" }), anonymous: true };
  await using server = await serve(small, { ...quiet, extendedCard });
  const response = await fetch(`${server.url}/a2a/extendedAgentCard`, { headers: { "a2a-version": "1.0" } });
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
});
