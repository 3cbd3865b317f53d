import { spawn } from "node:child_process";
import { connect as connectHttp2 } from "node:http2";
import { afterEach, describe, expect, test } from "vitest";
import type { AnyRequest, AnyResponse } from "../src/bindings/rpc-binding.js";
import { connectRaw, eventually, saying, startHost, type TestHost } from "./support/host.js";

let server: TestHost;
afterEach(async () => {
  server.handler.letGo();
  await server.host.close();
});

const CARD = "/.well-known/agent-card.json";

describe("the card", () => {
  test("is public, cacheable, open to every page, and told apart by version", async () => {
    const asked: (string | undefined)[] = [];
    const card = (_agent: string | undefined, version: string | undefined) => {
      asked.push(version);
      return `{"v":"${version}"}`;
    };
    server = await startHost({}, { card, cardsChangedAt: Date.UTC(2026, 0, 1, 0, 0, 0, 500), cardMaxAgeS: 60 });
    const response = await fetch(`${server.origin}${CARD}`, { headers: { "a2a-version": "1.0" } });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "public, max-age=60",
      "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT",
      "access-control-allow-origin": "*",
      vary: "A2A-Version",
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    });
    const other = await fetch(`${server.origin}${CARD}`);
    expect(other.headers.get("etag")).not.toBe(response.headers.get("etag"));
    expect(asked).toEqual(["1.0", undefined]);
  });

  test("isn't sent again to whoever has it", async () => {
    server = await startHost({}, { cardsChangedAt: Date.UTC(2026, 0, 1) });
    const etag = (await fetch(`${server.origin}${CARD}`)).headers.get("etag") ?? "";
    const cases: [Record<string, string>, number][] = [
      [{ "if-none-match": etag }, 304],
      [{ "if-none-match": `"x", W/${etag}` }, 304],
      [{ "if-none-match": "*" }, 304],
      [{ "if-none-match": '"x"' }, 200],
      [{ "if-none-match": '"x"', "if-modified-since": "Thu, 01 Jan 2027 00:00:00 GMT" }, 200],
      [{ "if-modified-since": "Thu, 01 Jan 2026 00:00:00 GMT" }, 304],
      [{ "if-modified-since": "Wed, 31 Dec 2025 23:59:59 GMT" }, 200],
      [{ "if-modified-since": "nonsense" }, 200],
    ];
    for (const [headers, status] of cases) {
      const response = await fetch(`${server.origin}${CARD}`, { headers });
      expect([headers, response.status, (await response.text()) === ""]).toEqual([headers, status, status === 304]);
      expect(response.headers.get("etag")).toBe(etag);
    }
  });

  test("is there for each agent, also by HEAD and after a preflight, and for no other", async () => {
    server = await startHost();
    expect(await (await fetch(`${server.origin}/agents/echo${CARD}`)).json()).toEqual({ name: "echo" });
    expect((await fetch(`${server.origin}/agents/none${CARD}`)).status).toBe(404);
    const head = await fetch(`${server.origin}${CARD}`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const preflight = await fetch(`${server.origin}${CARD}`, { method: "OPTIONS" });
    expect([preflight.status, preflight.headers.get("access-control-allow-headers")]).toEqual([
      204,
      "a2a-version, if-none-match",
    ]);
  });

  test("that can't be made is an internal error like any other", async () => {
    const card = () => Promise.reject(new Error("secret"));
    server = await startHost({}, { card });
    const response = await fetch(`${server.origin}${CARD}`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(server.errors).toHaveLength(1);
  });

  test("has a list of the agents beside it", async () => {
    server = await startHost();
    expect(await (await fetch(`${server.origin}/agents`)).json()).toEqual({
      agents: [{ name: "echo", card: "http://echo.example/card" }],
    });
  });
});

test("health is that the process answers, readiness that it can work", async () => {
  let answer: () => Promise<boolean> = async () => true;
  const draining = new AbortController();
  server = await startHost({}, { ready: () => answer(), draining });
  const status = async (path: string) => (await fetch(`${server.origin}${path}`)).status;
  expect([await status("/healthz"), await status("/readyz")]).toEqual([200, 200]);
  expect((await fetch(`${server.origin}/healthz`, { method: "HEAD" })).status).toBe(200);
  answer = async () => false;
  expect([await status("/healthz"), await status("/readyz")]).toEqual([200, 503]);
  answer = () => Promise.reject(new Error("the database is gone"));
  expect(await status("/readyz")).toBe(503);
  answer = async () => true;
  draining.abort();
  expect([await status("/healthz"), await status("/readyz")]).toEqual([200, 503]);
});

describe("everything else", () => {
  test("is a JSON 404 in the shape of HTTP+JSON, never a page of the framework", async () => {
    server = await startHost();
    for (const path of [
      "/",
      "/favicon.ico",
      "/a2b",
      "/a2aa/tasks",
      "/.well-known/agent.json",
      "/a2a/v2/tasks",
      "/%zz",
      "/agents/%ff/.well-known/agent-card.json",
      `/${"x".repeat(9_000)}`,
      "//a2a",
      "/healthz/",
    ]) {
      for (const method of ["GET", "POST", "PROPFIND", "TRACE"]) {
        if (method === "TRACE") continue; // fetch can't
        const response = await fetch(`${server.origin}${path}`, {
          method,
          ...(method === "POST" && { body: "{", headers: { "content-type": "application/json" } }),
        });
        expect(response.headers.get("content-type")).toBe("application/a2a+json");
        expect([400, 404]).toContain(response.status);
        expect(await response.json()).toMatchObject({ error: { code: response.status, message: expect.any(String) } });
      }
    }
  });

  test("may have routes of its own", async () => {
    server = await startHost({}, { routes: (app) => app.get("/metrics", () => "up 1") });
    expect(await (await fetch(`${server.origin}/metrics`)).text()).toBe("up 1");
  });

  test("moves with the base path", async () => {
    server = await startHost({}, { path: "/" });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" });
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    expect(await (await fetch(server.origin, { method: "POST", headers, body })).json()).toHaveProperty("result");
    expect((await fetch(`${server.origin}/tasks`, { headers })).status).toBe(200);
    expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.origin}/none`)).status).toBe(404);
  });

  test("takes a request target in absolute form, and a Host that is none", async () => {
    server = await startHost();
    for (const [target, host] of [
      ["http://h/a2a/tasks?pageSize=2", "h"],
      ["/a2a/tasks?pageSize=2", "%%%"],
      ["/a2a/tasks?pageSize=2#x", "a b"],
    ]) {
      const connection = connectRaw(server.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nA2A-Version: 1.0\r\n\r\n`);
      await connection.until("totalSize");
      connection.socket.destroy();
    }
    expect(server.handler.calls.map(({ request }) => request)).toMatchObject([
      { pageSize: 2 },
      { pageSize: 2 },
      { pageSize: 2 },
    ]);
  });
});

test("what a binding owns by path is handed to it as it came, over both HTTP versions", async () => {
  const seen: string[] = [];
  const rpc = {
    owns: (path: string) => path.startsWith("/lf.a2a.v1.A2AService/"),
    handle(request: AnyRequest, response: AnyResponse) {
      seen.push(`${request.httpVersion} ${request.url}`);
      response.end("mine");
    },
  };
  server = await startHost({}, { rpc });
  const path = "/lf.a2a.v1.A2AService/GetTask?x";
  expect(await (await fetch(`${server.origin}${path}`, { method: "POST" })).text()).toBe("mine");
  const session = connectHttp2(server.origin);
  const text = await new Promise<string>((resolve) => {
    session.request({ ":path": path }).setEncoding("utf8").on("data", resolve);
  });
  session.destroy();
  expect([text, ...seen]).toEqual(["mine", `1.1 ${path}`, `2.0 ${path}`]);
});

describe("streams", () => {
  test("live as long as the answer, though the request is over at once", async () => {
    server = await startHost({ heartbeatMs: 20 });
    const connection = connectRaw(server.port);
    const body = JSON.stringify(saying("hold"));
    connection.socket.write(
      `POST /a2a/message:stream HTTP/1.1\r\nHost: h\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await eventually(() => (connection.text().match(/^: /gm)?.length ?? 0) >= 5);
    expect(server.handler.open.streams).toBe(1);
    connection.socket.destroy();
    await eventually(() => server.handler.open.streams === 0);
  });

  test("that are aborted, five hundred of them, leave nothing behind", async () => {
    server = await startHost({ heartbeatMs: 50 });
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    const openOne = async (at: number) => {
      const controller = new AbortController();
      const request = {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": "1.0" },
        body: JSON.stringify(
          at % 2 === 0
            ? saying("hold")
            : { jsonrpc: "2.0", id: at, method: "SendStreamingMessage", params: saying("hold") },
        ),
        signal: controller.signal,
      };
      const response = await fetch(at % 2 === 0 ? `${server.url}/message:stream` : server.url, request);
      const reader = response.body?.getReader();
      await reader?.read();
      return controller;
    };
    for (let round = 0; round < 5; round++) {
      const opened = await Promise.all(Array.from({ length: 100 }, (_, at) => openOne(at)));
      expect(server.handler.open.streams).toBe(100);
      for (const controller of opened) controller.abort();
      await eventually(() => server.handler.open.streams === 0 && server.handler.open.waits === 0);
    }
    const before = Date.now();
    await server.host.drain(5_000);
    expect(Date.now() - before).toBeLessThan(2_000); // nothing that it still waits for
    process.off("unhandledRejection", onUnhandled);
    expect([unhandled, server.errors]).toEqual([[], []]);
  }, 30_000);

  test("are pulled only as fast as their reader reads, and nobody else waits for a slow one", async () => {
    server = await startHost({ heartbeatMs: 10 });
    const slow = connectRaw(server.port);
    slow.socket.pause();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendStreamingMessage",
      params: saying("big:1000000"),
    });
    slow.socket.write(
      `POST /a2a HTTP/1.1\r\nHost: h\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await eventually(() => server.handler.open.produced > 0);

    const quick = await (await server.rpc("SendStreamingMessage", saying("count:5000"))).text();
    expect(quick.match(/^data: /gm)).toHaveLength(5_002);
    expect((await fetch(`${server.origin}${CARD}`)).status).toBe(200);
    expect(server.handler.open.produced).toBeLessThan(5_000 + 20); // of the slow one's 64 megabytes: what fits into the kernel, and one frame

    let tail = "";
    let beats = 0;
    slow.socket.removeAllListeners("data");
    slow.socket.on("data", (chunk: Buffer) => {
      tail = (tail + chunk.toString("latin1")).slice(-1_000);
      if (tail.includes("\n: ")) beats++;
    });
    slow.socket.resume();
    await eventually(() => tail.includes("TASK_STATE_COMPLETED"));
    expect(beats).toBe(0); // no heartbeat piled up behind it
    slow.socket.destroy();
  });
});

test("after a drain nothing keeps the process alive", async () => {
  server = await startHost();
  const child = spawn(process.execPath, ["--import", "tsx", "test/support/drain-child.ts"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
  });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  expect([code, said]).toEqual([0, "drained\n"]);
});
