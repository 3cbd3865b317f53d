import type { Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { errorTable } from "../src/a2a/errors.js";
import { positionOf } from "../src/a2a/position.js";
import {
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTasksRequestSchema,
  SendMessageRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "../src/a2a/types.js";
import { HttpAnswer } from "../src/bindings/wire-error.js";
import { eventually } from "./support/host.js";
import { all, clients, failure, getTask, host, raw, say, subscribe } from "./support/json-clients.js";
import { http, streamHead } from "./support/raw-server.js";

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
