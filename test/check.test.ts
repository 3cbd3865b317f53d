import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type Agent, agent, serve } from "nuncio";
import { afterEach, describe, expect, test } from "vitest";
import hello from "../examples/hello.js";
import librarian from "../examples/librarian.js";
import polyglot from "../examples/polyglot.js";
import slow from "../examples/slow.js";
import trip from "../examples/trip.js";
import withLlm from "../examples/with-llm.js";
import { type CheckOptions, checkAgent, type Report } from "../src/check/check.js";
import { junitXml } from "../src/check/report-junit.js";
import { reportLines } from "../src/check/report-text.js";
import { bindingNames } from "../src/client/choose-interface.js";
import { quiet } from "./support/small-agents.js";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

const failed = ({ findings }: Report) =>
  findings
    .filter(({ verdict }) => verdict === "failed")
    .map(({ where, rule, seen }) => `${where} ${rule}: ${seen.join("; ")}`);
const verdictOf = ({ findings }: Report, rule: string) => findings.find((one) => one.rule === rule)?.verdict;

async function check(served: Agent, options: CheckOptions = {}): Promise<Report> {
  const server = await serve(served, { ...quiet, drainMs: 100, cancelGraceMs: 100 });
  open.push(server);
  return checkAgent(new URL(server.url), options);
}

describe("an agent of ours has no fault over any binding:", () => {
  test.each([
    ["hello", hello, {}],
    ["trip, which asks", trip, {}],
    ["librarian", librarian, { text: "What is a journal?" }],
    ["with-llm", withLlm, {}],
    ["polyglot, which has an extension", polyglot, {}],
    ["slow, which can be followed and canceled", slow, { text: "1" }],
  ] as const)("%s", async (_, served, options) => {
    const report = await check(served, options);
    expect(failed(report)).toEqual([]);
    expect(new Set(report.findings.map(({ where }) => where))).toEqual(
      new Set(["card", ...bindingNames, "all bindings"]),
    );
    expect(verdictOf(report, "equal.task")).toBe("passed");
    for (const { because } of report.interfaces) expect(because).toBeUndefined();
  });

  test("one that answers with messages, where what needs a task says so", async () => {
    const report = await check(agent({ name: "Echo", description: "Echoes", reply: ({ text }) => text }));
    expect(failed(report)).toEqual([]);
    expect(report.findings.filter(({ rule }) => rule === "cancel.task")).toMatchObject(
      bindingNames.map(() => ({ verdict: "not-checked", because: expect.stringContaining("no task") })),
    );
  });

  test("one that takes longer than anyone waits is followed and canceled nonetheless", async () => {
    const endless = agent({
      name: "Endless",
      description: "Works until it is canceled",
      async *run(task) {
        yield task.working();
        await once(task.signal, "abort");
        task.signal.throwIfAborted();
      },
    });
    const report = await check(endless, { bindings: ["jsonrpc", "grpc"], timeoutMs: 1_000 });
    expect(failed(report)).toEqual([]);
    expect(verdictOf(report, "send.blocks")).toBe("not-checked");
    for (const rule of ["subscribe.first", "subscribe.ends", "cancel.task", "cancel.again", "ended.send", "list.finds"])
      expect([rule, verdictOf(report, rule)]).toEqual([rule, "passed"]);
  });

  test("one that refuses what it is sent, which is said, and what can be checked is", async () => {
    const skills = ["a", "b"].map((id) => ({ id, description: id, reply: () => id }));
    const report = await check(agent({ name: "Choosy", description: "Wants a skill named", skills }), {
      bindings: ["http-json"],
    });
    expect(failed(report)).toEqual([]);
    const said = report.findings.find(({ rule }) => rule === "send.answers");
    expect(said).toMatchObject({ verdict: "not-checked", because: expect.stringMatching(/refuses "Hello" .*skill/) });
    expect(verdictOf(report, "unknown.task")).toBe("passed");
  });

  test("one that wants to know who is asking", async () => {
    const server = await serve(hello, {
      ...quiet,
      auth: {
        key: {
          type: "custom",
          scheme: { apiKeySecurityScheme: { location: "header", name: "x-key" } },
          authenticate: ({ headers }) => (headers.get("x-key") === "right" ? { id: "ann" } : undefined),
        },
      },
    });
    open.push(server);
    const [url, bindings] = [new URL(server.url), ["jsonrpc", "http-json", "grpc"] as const];
    const stranger = await checkAgent(url, { bindings });
    expect(verdictOf(stranger, "send.answers")).toBe("not-checked");
    const known = await checkAgent(url, { bindings, headers: { "x-key": "right" } });
    expect(failed(known)).toEqual([]);
    expect(verdictOf(known, "list.finds")).toBe("passed");
  });
});

describe("a hostile agent costs a bounded time, and the report says what happened:", () => {
  const card = (url: string, protocolBinding = "JSONRPC") => ({
    name: "Hostile",
    description: "Means no good",
    version: "1",
    supportedInterfaces: [{ url, protocolBinding, protocolVersion: "1.0" }],
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "s", name: "s", description: "s", tags: ["s"] }],
  });

  async function hostile(handle: RequestListener, binding = "JSONRPC"): Promise<Report> {
    const http = createServer((request, response) => {
      if (request.method !== "GET" || !request.url?.endsWith("agent-card.json")) return handle(request, response);
      const { port } = http.address() as AddressInfo;
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify(card(binding === "GRPC" ? `127.0.0.1:${port}` : `http://127.0.0.1:${port}/x`, binding)),
      );
    }).listen(0, "127.0.0.1");
    await once(http, "listening");
    open.push({
      async [Symbol.asyncDispose]() {
        http.closeAllConnections();
        http.close();
        await once(http, "close");
      },
    });
    return checkAgent(new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}`), { timeoutMs: 300 });
  }

  const reasons = (report: Report) => failed(report).join("\n");

  test.each(["JSONRPC", "HTTP+JSON", "GRPC"])("it never answers over %s", async (binding) => {
    const report = await hostile(() => {}, binding);
    expect(verdictOf(report, "interface.spoken")).toBe("failed");
    expect(verdictOf(report, "unknown.task")).toBe("not-checked");
  });

  test.each(["JSONRPC", "HTTP+JSON"])("it answers with pages over %s", async (binding) => {
    const report = await hostile(
      (_, response) => void response.writeHead(500, { "content-type": "text/html" }).end("<h1>Oops</h1>"),
      binding,
    );
    expect(reasons(report)).toContain("<h1>Oops</h1>");
  });

  test("it sends a body without end", async () => {
    const report = await hostile((_, response) => {
      const more = () => {
        while (response.write("x".repeat(65_536)));
        response.once("drain", more);
      };
      more();
    });
    expect(reasons(report)).toMatch(/more than 4194304 bytes|No answer/);
  });

  test("it streams without end, and never a word about a task", async () => {
    const report = await hostile((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let count = 0; count < 2_000; count++)
        response.write(`data: {"jsonrpc":"2.0","id":${count},"result":[]}\n\n`);
    });
    expect(verdictOf(report, "stream.first")).toBe("failed");
    expect(reasons(report)).toContain("no JSON object");
  });

  test("it speaks terminal: control characters never reach one, and XML stays XML", async () => {
    const report = await hostile(
      (_, response) =>
        void response.end('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\\u001b[2J]]>&<\\u0000\\ud800"}}'),
    );
    expect([...reportLines(report)].join("\n")).toContain("error 1");
    const xml = junitXml(report, false);
    expect(xml).toContain("&amp;&lt;\ufffd\ufffd");
    expect(xml).not.toMatch(/(?![\n\t])\p{Cc}|\p{Surrogate}/u);
  });

  test("its answers are JSON of every wrong kind", async () => {
    const answers = [
      "null",
      "[]",
      "1",
      '"x"',
      "{}",
      '{"jsonrpc":"2.0","id":null,"result":null}',
      `${"[".repeat(200)}`,
      "",
      '{"__proto__":{"x":1}}',
    ];
    let next = 0;
    const report = await hostile((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(answers[next++ % answers.length]);
    });
    expect(verdictOf(report, "jsonrpc.envelope")).toBe("failed");
  });

  test("its addresses are none", async () => {
    const http = createServer((_, response) => {
      const addresses = [
        "not a url",
        "",
        "http://",
        "file:///etc/passwd",
        "ftp://x",
        "127.0.0.1:99999",
        "http://[::",
        "a b:c",
      ];
      const supportedInterfaces = addresses.flatMap((address) =>
        ["JSONRPC", "GRPC", "HTTP+JSON", "urn:nuncio:binding:connect:v1", "urn:nuncio:binding:grpc-web:v1"].map(
          (protocolBinding) => ({ url: address, protocolBinding, protocolVersion: "1.0" }),
        ),
      );
      response.end(JSON.stringify({ ...card(""), supportedInterfaces }));
    }).listen(0, "127.0.0.1");
    await once(http, "listening");
    const report = await checkAgent(new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}`));
    http.closeAllConnections();
    http.close();
    await once(http, "close");
    for (const { because } of report.interfaces) expect(because).toBe("no call can go to its URL");
    expect(verdictOf(report, "card.urls")).toBe("failed");
  });

  test("there is nobody, or no card, or a card that is none", async () => {
    const at = async (body: string, status = 200) => {
      const http = createServer((_, response) => void response.writeHead(status).end(body)).listen(0, "127.0.0.1");
      await once(http, "listening");
      const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
      const report = await checkAgent(url, { timeoutMs: 1_000 });
      http.close();
      http.closeAllConnections();
      await once(http, "close");
      expect(await checkAgent(url)).toMatchObject({ agent: undefined });
      return report;
    };
    expect(reasons(await at("x", 404))).toContain("HTTP 404");
    expect(reasons(await at("<html>"))).toContain("no JSON");
    expect(reasons(await at("[]"))).toContain("no object");
    expect(reasons(await at('{"skills":"all"}'))).toContain("must be a JSON array");
    const empty = await at("{}");
    expect(empty.agent).toEqual({ name: "", version: "" });
    expect(verdictOf(empty, "card.interfaces")).toBe("failed");
  });
});
