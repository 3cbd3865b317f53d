import type { Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import type { Call } from "../src/a2a/call.js";
import { A2AError, errorTable } from "../src/a2a/errors.js";
import type { Handler } from "../src/a2a/handler.js";
import { positionOf } from "../src/a2a/position.js";
import {
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTasksRequestSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "../src/a2a/types.js";
import type { WireClientOptions } from "../src/bindings/client.js";
import { createHttpJsonClient } from "../src/bindings/http-json/client.js";
import { createJsonRpcClient } from "../src/bindings/jsonrpc/client.js";
import { HttpAnswer } from "../src/bindings/wire-error.js";
import { eventually, startHost, type TestHost } from "./support/host.js";
import { http, type RawServer, startRawServer, streamHead } from "./support/raw-server.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function host(...args: Parameters<typeof startHost>): Promise<TestHost> {
  const server = await startHost(...args);
  closing.push(async () => {
    server.handler.letGo();
    await server.host.close();
  });
  return server;
}

async function raw(...args: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...args);
  closing.push(server.close);
  return server;
}

function say(text: string): SendMessageRequest {
  return create(SendMessageRequestSchema, {
    message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: text } }] },
  });
}

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function failure(promise: Promise<unknown>): Promise<A2AError> {
  const error = await promise.then(
    () => new Error("it succeeded"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof A2AError)) throw error;
  return error;
}

const getTask = (client: Handler, id = "t", call: Call = {}) =>
  client.getTask(create(GetTaskRequestSchema, { id }), call);
const subscribe = (client: Handler, id = "t", call: Call = {}) =>
  client.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), call);

const clients: [string, (options: WireClientOptions) => Handler][] = [
  ["JSON-RPC", createJsonRpcClient],
  ["HTTP+JSON", createHttpJsonClient],
];

describe.each(clients)("the %s client", (wire, createClient) => {
  test("calls all operations of its own server half", async () => {
    const server = await host({ tenants: true });
    const client = createClient({ url: server.url });
    for (const tenant of ["", "acme"]) {
      const sent = await client.sendMessage({ ...say("t"), tenant }, {});
      expect(sent.payload.case).toBe("task");
      expect(
        (await all(client.sendStreamingMessage({ ...say("t"), tenant }, {}))).map(({ payload }) => payload.case),
      ).toEqual(["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
      expect((await client.getTask(create(GetTaskRequestSchema, { tenant, id: "t", historyLength: 0 }), {})).id).toBe(
        "t",
      );
      const filter = {
        tenant,
        contextId: "c c",
        status: TaskState.WORKING,
        pageSize: 3,
        includeArtifacts: false,
        statusTimestampAfter: { seconds: 1767218400n, nanos: 0 },
      };
      expect((await client.listTasks(create(ListTasksRequestSchema, filter), {})).totalSize).toBe(1);
      expect(server.handler.calls.at(-1)?.request).toMatchObject(filter);
      expect((await client.cancelTask(create(CancelTaskRequestSchema, { tenant, id: "t" }), {})).id).toBe("t");
      expect(
        await all(client.subscribeToTask(create(SubscribeToTaskRequestSchema, { tenant, id: "t" }), {})),
      ).toHaveLength(4);
      const config = create(TaskPushNotificationConfigSchema, {
        tenant,
        taskId: "t",
        id: "c/d",
        url: "https://hook.example/",
      });
      expect(await client.createTaskPushNotificationConfig(config, {})).toEqual(config);
      expect(
        (
          await client.getTaskPushNotificationConfig(
            create(GetTaskPushNotificationConfigRequestSchema, { tenant, taskId: "t", id: "c/d" }),
            {},
          )
        ).id,
      ).toBe("c/d");
      expect(
        (
          await client.listTaskPushNotificationConfigs(
            create(ListTaskPushNotificationConfigsRequestSchema, { tenant, taskId: "t" }),
            {},
          )
        ).configs,
      ).toEqual([]);
      await client.deleteTaskPushNotificationConfig(
        create(DeleteTaskPushNotificationConfigRequestSchema, { tenant, taskId: "t", id: "c/d" }),
        {},
      );
      expect((await client.getExtendedAgentCard(create(GetExtendedAgentCardRequestSchema, { tenant }), {})).name).toBe(
        "Extended",
      );
      for (const { request } of server.handler.calls) expect((request as { tenant?: string }).tenant).toBe(tenant);
      server.handler.calls.length = 0;
    }
  });

  test("sends the version, the extensions, the position and the caller's headers", async () => {
    const server = await host();
    const headers = () => ({ authorization: "Bearer x", "x-trace": "y" });
    const client = createClient({ url: server.url, headers });
    await client.sendMessage(say("count:3"), {});
    const call = { extensions: ["urn:a", "urn:b"], after: "3", parameters: { "a2a-trace": "z", "a2a-version": "9.9" } };
    const events = await all(subscribe(client, "count:3", call));
    expect(events.map(positionOf)).toEqual(["4", undefined]);
    expect(server.handler.calls.at(-1)?.call).toMatchObject({
      extensions: ["urn:a", "urn:b"],
      after: "3",
      parameters: { "a2a-version": "1.0", "a2a-trace": "z" },
    });
  });

  test("takes a base URL with a slash at its end", async () => {
    const server = await host();
    await createClient({ url: `${server.url}/` }).sendMessage(say("t"), {});
    expect(server.handler.calls).toHaveLength(1);
  });

  test("gets every error of its server half back as it was", async () => {
    const server = await host();
    const client = createClient({ url: server.url });
    for (const reason of Object.keys(errorTable)) {
      if (reason === "INTERNAL" || !("domain" in errorTable[reason as keyof typeof errorTable])) continue;
      const error = await failure(client.sendMessage(say(`refuse:${reason}`), {}));
      expect([error.reason, error.metadata.retryAfterMs]).toEqual([reason, "1500"]);
      expect(error.cause).toBeInstanceOf(HttpAnswer);
    }
    const invalid = await failure(client.sendMessage(create(SendMessageRequestSchema), {}));
    expect(invalid.reason).toBe("INVALID_PARAMS");
    expect(invalid.violations.map(({ path }) => path)).toContain("message");
    expect((await failure(client.sendMessage(say("fail"), {}))).reason).toBe("INTERNAL");
  });

  test("throws a stream's error as it is, before it began and after", async () => {
    const server = await host();
    const client = createClient({ url: server.url });
    expect((await failure(all(subscribe(client, "none")))).reason).toBe("TASK_NOT_FOUND");
    const events: StreamResponse[] = [];
    const late = async () => {
      for await (const event of client.sendStreamingMessage(say("late-fail"), {})) events.push(event);
    };
    const error = await failure(late());
    expect([events.length, error.reason]).toEqual([3, "INVALID_AGENT_RESPONSE"]);
  });

  test("releases the connection when its reader breaks off, and the server stops", async () => {
    const server = await host();
    const client = createClient({ url: server.url });
    for (let round = 0; round < 100; round++) {
      for await (const _event of client.sendStreamingMessage(say("hold"), {})) break;
    }
    await eventually(() => server.handler.open.streams === 0);
    expect(server.errors).toEqual([]);
  });

  test("lets go at once when return is called while a read is pending", async () => {
    const server = await host();
    const iterator = createClient({ url: server.url }).sendStreamingMessage(say("hold"), {})[Symbol.asyncIterator]();
    for (let event = 0; event < 3; event++) await iterator.next();
    const pending = iterator.next();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    await eventually(() => server.handler.open.streams === 0);
  });

  test("rejects with the signal's reason, before, during and within a stream", async () => {
    const server = await host();
    const client = createClient({ url: server.url });
    const reason = new Error("enough");
    await expect(getTask(client, "t", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.handler.calls).toEqual([]);

    const waiting = new AbortController();
    const answer = client.sendMessage(say("hold"), { signal: waiting.signal });
    await eventually(() => server.handler.open.waits === 1);
    waiting.abort(reason);
    await expect(answer).rejects.toBe(reason);
    await eventually(() => server.handler.open.waits === 0);

    const reading = new AbortController();
    const stream = all(client.sendStreamingMessage(say("hold"), { signal: reading.signal }));
    await eventually(() => server.handler.open.waits === 1);
    reading.abort(reason);
    await expect(stream).rejects.toBe(reason);
    await eventually(() => server.handler.open.streams === 0);
    expect(server.errors).toEqual([]);
  });

  const bare: [string, string, string][] = [
    ["an HTML page", http(200, "text/html", "<html>welcome</html>"), "INVALID_AGENT_RESPONSE"],
    ["nothing", http(200, undefined, ""), "INVALID_AGENT_RESPONSE"],
    [
      "half a JSON",
      http(200, "application/json", '{"jsonrpc":"2.0","id":1,"result":{"id":"t"'),
      "INVALID_AGENT_RESPONSE",
    ],
    ["a list", http(200, "application/json", "[]"), "INVALID_AGENT_RESPONSE"],
    ["a text", http(200, "application/json", '"ok"'), "INVALID_AGENT_RESPONSE"],
    ["too deep a JSON", http(200, "application/json", "[".repeat(50_000)), "INVALID_AGENT_RESPONSE"],
    ["an HTML 401", http(401, "text/html", "<h1>login</h1>"), "UNAUTHENTICATED"],
    ["an empty 403", http(403, undefined, ""), "PERMISSION_DENIED"],
    ["an HTML 404", http(404, "text/html", "<h1>not found</h1>"), "METHOD_NOT_FOUND"],
    ["an HTML 413", http(413, "text/html", "<h1>too large</h1>"), "REQUEST_TOO_LARGE"],
    ["a bare 429", http(429, "text/plain", "slow down", "retry-after: 7\r\n"), "QUOTA_EXHAUSTED"],
    ["a bare 500", http(500, "text/html", "<h1>oops</h1>"), "INTERNAL"],
    ["a bare 503", http(503, "text/html", "<h1>busy</h1>"), "UNAVAILABLE"],
    ["a redirect", http(307, undefined, "", "location: http://127.0.0.1:1/\r\n"), "INVALID_AGENT_RESPONSE"],
  ];
  test.each(bare)(
    "makes a typed error of %s, with the answer as its cause, also for a stream",
    async (_what, answer, reason) => {
      const server = await raw(() => answer);
      const client = createClient({ url: server.url });
      for (const call of [getTask(client), all(client.sendStreamingMessage(say("t"), {}))]) {
        const error = await failure(call);
        expect(error.reason).toBe(reason);
        expect(error.cause).toBeInstanceOf(HttpAnswer);
        if (reason === "QUOTA_EXHAUSTED") expect((error.cause as HttpAnswer).retryAfterMs).toBe(7_000);
      }
    },
  );

  test("refuses an answer, and an event, that never ends", async () => {
    const answering: Socket[] = [];
    const server = await raw((request, _count, socket) => {
      answering.push(socket);
      const isStream = request.includes("text/event-stream");
      socket.write(isStream ? `${streamHead}data: ` : "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[");
      const more = () => {
        while (!socket.destroyed && socket.write("x".repeat(65_536)));
      };
      socket.on("drain", more);
      more();
      return undefined;
    });
    const client = createClient({ url: server.url, maxAnswerBytes: 1_000_000 });
    expect((await failure(getTask(client))).reason).toBe("INVALID_AGENT_RESPONSE");
    expect((await failure(all(client.sendStreamingMessage(say("t"), {})))).reason).toBe("INVALID_AGENT_RESPONSE");
    expect(answering).toHaveLength(2);
    await eventually(() => answering.every(({ destroyed }) => destroyed));
  });

  test("throws what the network throws when there is no answer", async () => {
    const server = await raw((_request, _count, socket) => {
      socket.destroy();
      return undefined;
    });
    await expect(getTask(createClient({ url: server.url }))).rejects.toThrow(TypeError);
    await server.close();
    await expect(getTask(createClient({ url: server.url }))).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  test("takes a stream that ends early for one that ends, and drops the half event", async () => {
    const event = JSON.stringify(
      wire === "JSON-RPC" ? { jsonrpc: "2.0", id: 1, result: { task: { id: "t" } } } : { task: { id: "t" } },
    );
    const server = await raw(
      () => `${streamHead}: hi\n\nid: 5\ndata:${event}\r\n\r\nevent: x\ndata: ${event.slice(0, 20)}`,
    );
    const events = await all(createClient({ url: server.url }).sendStreamingMessage(say("t"), {}));
    expect(events.map(positionOf)).toEqual(["5"]);
  });

  test("refuses an event that is no JSON", async () => {
    const server = await raw(() => `${streamHead}data: <html>\n\n`);
    expect((await failure(all(createClient({ url: server.url }).sendStreamingMessage(say("t"), {})))).reason).toBe(
      "INVALID_AGENT_RESPONSE",
    );
  });

  test("needs no global but fetch, and calls the one that it is given without a this", async () => {
    let self: unknown = "not called";
    const fetch = async function (this: unknown) {
      self = this;
      return new Response("", { status: 401 });
    } as typeof globalThis.fetch;
    expect((await failure(getTask(createClient({ url: "/relative", fetch })))).reason).toBe("UNAUTHENTICATED");
    expect(self).toBeUndefined();
  });
});

describe("the JSON-RPC client", () => {
  const invalid: [string, object][] = [
    ["another id", { jsonrpc: "2.0", id: 99, result: { id: "t" } }],
    ["an id of another type", { jsonrpc: "2.0", id: "1", result: { id: "t" } }],
    ["no id", { jsonrpc: "2.0", result: { id: "t" } }],
    [
      "both a result and an error",
      { jsonrpc: "2.0", id: 1, result: { id: "t" }, error: { code: -32001, message: "x" } },
    ],
    ["neither", { jsonrpc: "2.0", id: 1 }],
    ["another version", { jsonrpc: "1.0", id: 1, result: { id: "t" } }],
    ["an error of another request", { jsonrpc: "2.0", id: 4, error: { code: -32001, message: "x" } }],
    ["a result that is no task", { jsonrpc: "2.0", id: 1, result: "t" }],
  ];
  test.each(invalid)("refuses an envelope with %s", async (_what, envelope) => {
    const server = await raw(() => http(200, "application/json", JSON.stringify(envelope)));
    expect((await failure(getTask(createJsonRpcClient({ url: server.url })))).reason).toBe("INVALID_AGENT_RESPONSE");
  });

  test("believes the envelope more than the HTTP status", async () => {
    const answers = [
      http(500, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 1, result: { id: "t" } })),
      http(404, "text/html", JSON.stringify({ jsonrpc: "2.0", id: 2, error: { code: -32602, message: "bad" } })),
      http(
        500,
        "application/json",
        JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "bad" } }),
      ),
      http(200, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 4, result: { id: "t" }, error: null })),
    ];
    const server = await raw((_request, count) => answers[count - 1]);
    const client = createJsonRpcClient({ url: server.url });
    expect((await getTask(client)).id).toBe("t");
    expect((await failure(getTask(client))).reason).toBe("INVALID_PARAMS");
    expect((await failure(getTask(client))).reason).toBe("PARSE_ERROR");
    expect((await getTask(client)).id).toBe("t");
  });

  const info = (reason: string, domain?: string) => ({
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    ...(domain !== undefined && { domain }),
  });
  const codes: [object, string][] = [
    [{ code: -32001, message: "x" }, "TASK_NOT_FOUND"],
    [{ code: -32009, message: "x", data: { supported: ["1.0"] } }, "VERSION_NOT_SUPPORTED"],
    [{ code: -32000, message: "x", data: [info("TASK_NOT_CANCELABLE", "a2a-protocol.org")] }, "TASK_NOT_CANCELABLE"],
    [{ code: -32001, message: "x", data: [info("QUOTA_EXHAUSTED", "example.com")] }, "TASK_NOT_FOUND"],
    [{ code: -32099, message: "x", data: [info("NEWER_ERROR", "a2a-protocol.org")] }, "NEWER_ERROR"],
    [{ code: -32029, message: "not ours" }, "INTERNAL"],
    [{ code: -32031, message: "x", data: [info("DRAINING", "nuncio")] }, "DRAINING"],
    [{ code: 5, message: "x" }, "INTERNAL"],
    [{ message: 5 }, "INTERNAL"],
    ["a text" as unknown as object, "INTERNAL"],
    [{ code: -32004, message: "x".repeat(1_000_000), data: [null, 5, { "@type": 5 }] }, "UNSUPPORTED_OPERATION"],
  ];
  test.each(codes)("reads the error %j", async (error, reason) => {
    const server = await raw(() => http(200, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 1, error })));
    const thrown = await failure(getTask(createJsonRpcClient({ url: server.url })));
    expect(thrown.reason).toBe(reason);
    expect(thrown.message.length).toBeLessThan(2_000);
  });

  test("refuses a stream's frame that answers another request, and one without an envelope", async () => {
    for (const frame of [{ jsonrpc: "2.0", id: 2, result: { task: { id: "t" } } }, { task: { id: "t" } }]) {
      const server = await raw(() => `${streamHead}data: ${JSON.stringify(frame)}\n\n`);
      expect((await failure(all(subscribe(createJsonRpcClient({ url: server.url }))))).reason).toBe(
        "INVALID_AGENT_RESPONSE",
      );
    }
  });

  test("refuses an ordinary answer to a stream, and reads an error that came as one", async () => {
    const answers = [
      http(200, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 1, result: { task: { id: "t" } } })),
      http(200, undefined, JSON.stringify({ jsonrpc: "2.0", id: 2, error: { code: -32004, message: "terminal" } })),
    ];
    const server = await raw((_request, count) => answers[count - 1]);
    const client = createJsonRpcClient({ url: server.url });
    expect((await failure(all(subscribe(client)))).reason).toBe("INVALID_AGENT_RESPONSE");
    expect((await failure(all(subscribe(client)))).reason).toBe("UNSUPPORTED_OPERATION");
  });
});

describe("the HTTP+JSON client", () => {
  test("sends no body and no content type where there is nothing to send", async () => {
    const server = await raw(() => http(200, "application/json", '{"id":"t"}'));
    await createHttpJsonClient({ url: server.url }).cancelTask(create(CancelTaskRequestSchema, { id: "t" }), {});
    expect(server.requests[0]).toMatch(/^POST \/a2a\/tasks\/t:cancel HTTP\/1.1/);
    expect(server.requests[0]).not.toMatch(/content-type/i);
  });

  test("keeps the query of its URL", async () => {
    const server = await raw(() => http(200, "application/json", '{"id":"t"}'));
    await createHttpJsonClient({ url: `${server.url}?key=1` }).getTask(
      create(GetTaskRequestSchema, { id: "t", historyLength: 2 }),
      {},
    );
    expect(server.requests[0]).toMatch(/^GET \/a2a\/tasks\/t\?historyLength=2&key=1 HTTP/);
  });

  test("never lets an id walk to another path", async () => {
    const server = await host();
    const client = createHttpJsonClient({ url: server.url });
    for (const id of ["", ".", "..", "\ud800"])
      expect((await failure(getTask(client, id))).reason).toBe("INVALID_PARAMS");
    for (const id of ["../x", "a/../b", "a:cancel", "a?b", "a#b", "%2e%2e"])
      expect((await failure(getTask(client, id))).reason).toBe("TASK_NOT_FOUND");
    expect(server.handler.calls.map(({ request }) => (request as { id?: string }).id)).toEqual([
      "../x",
      "a/../b",
      "a:cancel",
      "a?b",
      "a#b",
      "%2e%2e",
    ]);
  });

  const stream = `${streamHead}data: {"task":{"id":"t"}}\n\n`;
  const missing = [
    http(405, "text/html", "no"),
    http(501, undefined, ""),
    http(404, "text/html", "<h1>not found</h1>"),
    http(404, "application/json", '{"error":{"code":404,"status":"NOT_FOUND","message":"no route"}}'),
  ];
  test.each(missing)("subscribes by GET where POST isn't there: %.25s", async (answer) => {
    const server = await raw((request) => (request.startsWith("POST") ? answer : stream));
    expect(await all(subscribe(createHttpJsonClient({ url: server.url })))).toHaveLength(1);
    expect(server.requests.map((request) => request.slice(0, 30))).toEqual([
      "POST /a2a/tasks/t:subscribe HT",
      "GET /a2a/tasks/t:subscribe HTT",
    ]);
  });

  test("doesn't ask again when the agent itself has said no", async () => {
    const details = [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
    ];
    const server = await raw(() =>
      http(
        404,
        "application/json",
        JSON.stringify({ error: { code: 404, status: "NOT_FOUND", message: "gone", details } }),
      ),
    );
    const error = await failure(all(subscribe(createHttpJsonClient({ url: server.url }))));
    expect([error.reason, error.message, server.requests.length]).toEqual(["TASK_NOT_FOUND", "gone", 1]);
  });

  test("takes an empty answer to a delete", async () => {
    const server = await raw(() => "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    const request = create(DeleteTaskPushNotificationConfigRequestSchema, { taskId: "t", id: "c" });
    await createHttpJsonClient({ url: server.url }).deleteTaskPushNotificationConfig(request, {});
  });

  const shapes: [number, object, string, string][] = [
    [400, { error: { code: 400, status: "INVALID_ARGUMENT", message: "m" } }, "INVALID_PARAMS", "m"],
    [
      409,
      {
        error: {
          code: 409,
          message: "m",
          details: [
            {
              "@type": "type.googleapis.com/google.rpc.ErrorInfo",
              reason: "TASK_NOT_CANCELABLE",
              domain: "a2a-protocol.org",
            },
          ],
        },
      },
      "TASK_NOT_CANCELABLE",
      "m",
    ],
    [404, { code: 5, message: "m", details: [] }, "METHOD_NOT_FOUND", "m"],
    [400, { type: "about:blank", title: "Bad", detail: "m" }, "INVALID_REQUEST", "m"],
    [500, { error: "m" }, "INTERNAL", "The server answered with HTTP 500"],
    [500, { error: { message: 5, details: 7 } }, "INTERNAL", "Internal error"],
  ];
  test.each(shapes)("reads a %i with %j", async (status, body, reason, message) => {
    const server = await raw(() => http(status, "application/problem+json", JSON.stringify(body)));
    const error = await failure(getTask(createHttpJsonClient({ url: server.url })));
    expect([error.reason, error.message]).toEqual([reason, message]);
  });
});
