import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anonymous } from "../src/a2a/call.js";
import { SubscribeToTaskRequestSchema } from "../src/a2a/types.js";
import { v1 } from "../src/a2a/v1.js";
import type { BindingContext } from "../src/bindings/binding.js";
import { createHttpJsonBinding } from "../src/bindings/http-json/server.js";
import { createJsonRpcClient } from "../src/bindings/jsonrpc/client.js";
import { createJsonRpcBinding } from "../src/bindings/jsonrpc/server.js";
import { createFetchHost, type FetchHandler } from "../src/hosts/fetch.js";
import { silentLogger } from "../src/runtime/logger.js";
import { systemRuntime } from "../src/runtime/runtime.js";
import { type FakeHandler, fakeHandler } from "./support/fake-handler.js";
import { eventually, saying } from "./support/host.js";

let handler: FakeHandler;
let answer: FetchHandler;
let draining: AbortController;
beforeEach(() => {
  handler = fakeHandler();
  draining = new AbortController();
  const context: BindingContext = {
    handler,
    versions: [v1],
    authenticate: async () => anonymous,
    challenges: [],
    runtime: systemRuntime,
    logger: silentLogger,
    maxBodyBytes: 1_000,
    maxDepth: 64,
    heartbeatMs: 15_000,
    draining: draining.signal,
  };
  answer = createFetchHost({
    path: "/a2a",
    ...context,
    jsonRpc: createJsonRpcBinding(context),
    httpJson: createHttpJsonBinding(context),
    card: (agent) => (agent === "no" ? undefined : JSON.stringify({ name: agent ?? "default" })),
  });
});
afterEach(() => handler.letGo());

const post = (path: string, body: unknown, init: RequestInit = {}) =>
  answer(
    new Request(`https://h.example${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
    }),
  );
const get = (path: string, headers = {}) => answer(new Request(`https://h.example${path}`, { headers }));

describe("the fetch host", () => {
  test("carries both JSON bindings", async () => {
    expect(await (await post("/a2a", { jsonrpc: "2.0", id: 1, method: "ListTasks" })).json()).toHaveProperty(
      "result.totalSize",
      0,
    );
    expect(await (await post("/a2a/message:send", saying("t"))).json()).toHaveProperty("task.id", "t");
    expect(await (await get("/a2a/tasks?pageSize=2&A2A-Version=1.0")).json()).toHaveProperty("totalSize", 1);
    expect(await (await post("/a2a/message:stream", saying("count:2"))).text()).toMatch(
      /^id: 1\ndata: .*TASK_STATE_COMPLETED/s,
    );
  });

  test("is a server for a client that is given it as its fetch", async () => {
    const client = createJsonRpcClient({
      url: "https://h.example/a2a",
      fetch: (url, init) => answer(new Request(url, init)),
    });
    const events = [];
    await post("/a2a/message:send", saying("count:2"));
    const request = create(SubscribeToTaskRequestSchema, { id: "count:2" });
    for await (const event of client.subscribeToTask(request, {})) events.push(event.payload.case);
    expect(events).toEqual(["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
  });

  test("stops the handler when the reader cancels, and when the request is aborted", async () => {
    const response = await post("/a2a/message:stream", saying("hold"));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await eventually(() => handler.open.streams === 0);

    const controller = new AbortController();
    const waiting = post("/a2a/message:send", saying("hold"), { signal: controller.signal });
    await eventually(() => handler.open.waits === 1);
    controller.abort();
    await waiting;
    expect(handler.open.waits).toBe(0);
  });

  test("pulls no more than its reader takes", async () => {
    const response = await post("/a2a/message:stream", saying("big:100000"));
    const reader = response.body?.getReader();
    await reader?.read();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(handler.open.produced).toBeLessThan(4);
    await reader?.cancel();
  });

  test("refuses what is too large in the binding's shape, with and without a length", async () => {
    const large = JSON.stringify({ x: "y".repeat(2_000) });
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large));
        controller.close();
      },
    });
    for (const init of [{}, { body, duplex: "half" } as RequestInit]) {
      const response = await post("/a2a", large, init);
      expect([response.status, await response.json()]).toMatchObject([
        413,
        { jsonrpc: "2.0", error: { code: -32000 } },
      ]);
    }
  });

  test("has the card, health and the same 404", async () => {
    const card = await get("/.well-known/agent-card.json");
    expect(await card.json()).toEqual({ name: "default" });
    const again = await get("/.well-known/agent-card.json", { "if-none-match": card.headers.get("etag") });
    expect([again.status, again.body]).toEqual([304, null]);
    expect(await (await get("/agents/a%20b/.well-known/agent-card.json")).json()).toEqual({ name: "a b" });
    for (const [path, status] of [
      ["/healthz", 200],
      ["/readyz", 200],
      ["/agents", 200],
      ["/agents/no/.well-known/agent-card.json", 404],
      ["/x", 404],
    ] as const) {
      expect([path, (await get(path)).status]).toEqual([path, status]);
    }
    draining.abort();
    expect((await get("/readyz")).status).toBe(503);
    expect((await post("/a2a", "{}")).status).toBe(503);
    expect((await get("/agents/%ff/.well-known/agent-card.json")).status).toBe(400);
  });
});
