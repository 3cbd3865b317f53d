import { afterEach, describe, expect, test } from "vitest";
import { A2AError, errorTable } from "../src/a2a/errors.js";
import { v1 } from "../src/a2a/v1.js";
import { connectRaw, eventually, otherVersion, saying, startHost, type TestHost } from "./support/host.js";

let server: TestHost;
afterEach(async () => {
  server.handler.letGo();
  await server.host.close();
});

interface Answer {
  jsonrpc: string;
  id: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: Record<string, unknown>[] };
}

const read = async (response: Response) => (await response.json()) as Answer;
const frames = (text: string): Answer[] =>
  text
    .split("\n\n")
    .flatMap((frame) => (/^data: (.*)$/m.exec(frame)?.[1] ? [JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? "")] : []));

describe("a JSON-RPC request", () => {
  test("is answered with its own id and a result", async () => {
    server = await startHost();
    for (const id of [1, "one", 1.5, null, -3, ""]) {
      const response = await server.post("", { jsonrpc: "2.0", id, method: "SendMessage", params: saying("x") });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await read(response)).toMatchObject({ jsonrpc: "2.0", id, result: { task: { id: "x" } } });
    }
  });

  test("works at the path with a slash behind it as well", async () => {
    server = await startHost();
    expect((await server.post("/", { jsonrpc: "2.0", id: 1, method: "ListTasks" })).status).toBe(200);
  });

  test("with params absent or null has none", async () => {
    server = await startHost();
    for (const params of [undefined, null, {}])
      expect(await read(await server.rpc("ListTasks", params))).toHaveProperty("result.totalSize", 0);
  });

  test("for an operation without an answer has an empty result", async () => {
    server = await startHost();
    expect(await read(await server.rpc("DeleteTaskPushNotificationConfig", { taskId: "t", id: "c" }))).toEqual({
      jsonrpc: "2.0",
      id: 7,
      result: {},
    });
  });

  const malformed: [string, string | Uint8Array, number, unknown][] = [
    ["bad JSON", '{"jsonrpc":', -32700, null],
    ["an empty body", "", -32700, null],
    ["bytes that are no UTF-8", new Uint8Array([0x22, 0xff, 0xfe, 0x22]), -32700, null],
    ["an empty batch", "[]", -32600, null],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]', -32600, null],
    ["a string", '"ListTasks"', -32600, null],
    ["null", "null", -32600, null],
    ["no jsonrpc", '{"id":1,"method":"ListTasks"}', -32600, 1],
    ["jsonrpc 1.0", '{"jsonrpc":"1.0","id":1,"method":"ListTasks"}', -32600, 1],
    ["jsonrpc as a number", '{"jsonrpc":2.0,"id":1,"method":"ListTasks"}', -32600, 1],
    ["no method", '{"jsonrpc":"2.0","id":1}', -32600, 1],
    ["a method that is no string", '{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"ListTasks"}', -32600, null],
    ["an id that is a boolean", '{"jsonrpc":"2.0","id":true,"method":"ListTasks"}', -32600, null],
    [
      "an id beyond what a number holds",
      '{"jsonrpc":"2.0","id":12345678901234567890,"method":"ListTasks"}',
      -32600,
      null,
    ],
    ["no id", '{"jsonrpc":"2.0","method":"SendMessage","params":{}}', -32600, null],
    ["an unknown method", '{"jsonrpc":"2.0","id":1,"method":"ListTask"}', -32601, 1],
    ["a method of Object's prototype", '{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32601, 1],
    ["params as an array", '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":[]}', -32602, 1],
    ["params as a string", '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":"x"}', -32602, 1],
    ["a number where an id is due", '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":5}}', -32602, 1],
    [
      "deep nesting",
      `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
      -32700,
      null,
    ],
  ];
  test.each(malformed)("with %s is refused, and nothing is done", async (_what, body, code, id) => {
    server = await startHost();
    const response = await server.post("", body);
    expect(response.status).toBe(200);
    expect(await read(response)).toMatchObject({ jsonrpc: "2.0", id, error: { code } });
    expect(server.handler.calls).toEqual([]);
  });

  test("with an unknown method learns how methods are named", async () => {
    server = await startHost();
    expect((await read(await server.rpc("listtasks"))).error?.message).toMatch(/PascalCase/);
  });

  test("keeps keys such as __proto__ as data", async () => {
    server = await startHost();
    const metadata = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}';
    const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]},"metadata":${metadata}}}`;
    expect(await read(await server.post("", body))).toHaveProperty("result.task");
    expect(JSON.stringify((server.handler.calls[0]?.request as { metadata?: unknown } | undefined)?.metadata)).toBe(
      metadata,
    );
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test("must say that it is JSON, which is judged before its body", async () => {
    server = await startHost();
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/jsonx",
      "text/json",
      "/",
      "json",
    ]) {
      const response = await server.post("", "{", { "content-type": type });
      expect(response.status).toBe(415);
      const { id, error } = await read(response);
      expect({ id, code: error?.code, reason: error?.data?.[0]?.reason }).toEqual({
        id: null,
        code: -32005,
        reason: "CONTENT_TYPE_NOT_SUPPORTED",
      });
    }
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "Application/JSON",
      "application/a2a+json",
    ]) {
      expect(
        (await server.post("", { jsonrpc: "2.0", id: 1, method: "ListTasks" }, { "content-type": type })).status,
      ).toBe(200);
    }
  });

  test("by another HTTP method is 405 in JSON-RPC's shape", async () => {
    server = await startHost();
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"]) {
      const response = await fetch(server.url, { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "POST"]);
      expect(await read(response)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
    }
  });
});

describe("the version", () => {
  const cases: [string, string | undefined, string, number | undefined][] = [
    ["1.0", "1.0", "", undefined],
    ["a patch of it", "1.0.7", "", undefined],
    ["a query parameter", undefined, "?A2A-Version=1.0", undefined],
    ["a query parameter in small letters", undefined, "?a2a-version=1.0", undefined],
    ["both, and the same", "1.0", "?A2A-Version=1.0.3", undefined],
    ["an empty header and a parameter", "", "?A2A-Version=1.0", undefined],
    ["twice the same", "1.0, 1.0", "", undefined],
    ["both, and different", "1.0", "?A2A-Version=0.3", -32602],
    ["two in one header", "1.0, 2.0", "", -32602],
    ["nothing", undefined, "", -32009],
    ["an empty one", "", "", -32009],
    ["2.0", "2.0", "", -32009],
    ["0.3", "0.3", "", -32009],
    ["1", "1", "", -32009],
    ["v1.0", "v1.0", "", -32009],
    ["1.0.x", "1.0.x", "", -32009],
  ];
  test.each(cases)("%s", async (_what, header, query, code) => {
    server = await startHost();
    const headers: Record<string, string> = {
      "content-type": "application/json",
      ...(header !== undefined && { "a2a-version": header }),
    };
    const response = await fetch(`${server.url}${query}`, {
      method: "POST",
      headers,
      body: '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}',
    });
    const { error, id } = await read(response);
    expect([response.status, id, error?.code]).toEqual([200, 1, code]);
    if (code === -32009)
      expect(error?.data?.[0]).toMatchObject({
        reason: "VERSION_NOT_SUPPORTED",
        metadata: { supportedVersions: "1.0" },
      });
  });

  test("that is missing is told by name of the header", async () => {
    server = await startHost();
    const response = await fetch(server.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}',
    });
    expect((await read(response)).error?.message).toContain("A2A-Version: 1.0");
  });
});

test("a method of another version is not found, and the hint says whose it is", async () => {
  server = await startHost({ versions: [v1, otherVersion] });
  const ask = async (method: string, version: string) =>
    (await read(await server.rpc(method, {}, { "a2a-version": version }))).error;
  expect([await ask("ListTasks", "1.0"), await ask("EnumerateTasks", "9.1.4")]).toEqual([undefined, undefined]);
  expect(await ask("EnumerateTasks", "1.0")).toMatchObject({ code: -32601, message: expect.stringContaining("9.1") });
  expect(await ask("ListTasks", "9.1")).toMatchObject({ code: -32601, message: expect.stringContaining("1.0") });
  expect(await ask("ListTasks", "2.0")).toMatchObject({
    code: -32009,
    data: [{ metadata: { supportedVersions: "1.0,9.1" } }],
  });
});

test("extensions arrive trimmed, in order and once, whether listed or repeated; so do the other service parameters", async () => {
  server = await startHost();
  const connection = connectRaw(
    server.port,
    `POST /a2a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\na2a-extensions: urn:a , urn:b\r\nA2A-EXTENSIONS: urn:c,,urn:a\r\nLast-Event-ID: 42\r\nA2A-Trace: t\r\nContent-Length: 46\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ListTasks"} `,
  );
  await connection.until("totalSize");
  connection.socket.destroy();
  expect(server.handler.calls[0]?.call).toMatchObject({
    extensions: ["urn:a", "urn:b", "urn:c"],
    after: "42",
    parameters: { "a2a-version": "1.0", "a2a-trace": "t" },
    principal: { id: "anonymous" },
  });
});

describe("an error", () => {
  test("has the code, the details and the HTTP status of its reason", async () => {
    server = await startHost();
    for (const [reason, row] of Object.entries(errorTable)) {
      if (reason === "INTERNAL") continue;
      const response = await server.rpc("SendMessage", saying(`refuse:${reason}`));
      const { error, id } = await read(response);
      const kept = [401, 403, 405, 413, 429, 503].includes(row.http);
      expect([reason, id, response.status, error?.code]).toEqual([reason, 7, kept ? row.http : 200, row.jsonRpc]);
      if ("domain" in row) {
        expect(error?.data?.[0]).toMatchObject({
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason,
          domain: row.domain,
        });
      }
      if (row.http === 401) expect(response.headers.get("www-authenticate")).toBe('Bearer realm="test"');
      if (row.http === 429) expect(response.headers.get("retry-after")).toBe("2");
    }
  });

  test("of the request names every field", async () => {
    server = await startHost();
    const { error } = await read(await server.rpc("SendMessage", { message: { role: "ROLE_WIZARD" } }));
    expect(error?.code).toBe(-32602);
    const violations = error?.data?.[0]?.fieldViolations as { field: string }[];
    expect(error?.data?.[0]?.["@type"]).toBe("type.googleapis.com/google.rpc.BadRequest");
    expect(violations.map(({ field }) => field).sort()).toEqual(["message.messageId", "message.parts", "message.role"]);
  });

  test("that nobody expected tells a correlation id and nothing else, and is logged once with its cause", async () => {
    server = await startHost();
    const text = await (await server.rpc("SendMessage", saying("fail"))).text();
    expect(text).not.toMatch(/postgres|secret|at /);
    const { error } = JSON.parse(text) as Answer;
    const { correlationId } = (error?.data?.[0]?.metadata ?? {}) as { correlationId?: string };
    expect([error?.code, error?.message]).toEqual([-32603, `Internal error (${correlationId})`]);
    expect(server.errors).toHaveLength(1);
    expect(server.errors[0]).toMatchObject({
      correlationId,
      err: expect.objectContaining({ message: expect.stringContaining("postgres") }),
    });
  });

  test("of authentication comes before anything is read", async () => {
    server = await startHost({ authenticate: async () => Promise.reject(new A2AError("UNAUTHENTICATED")) });
    const response = await server.post("", "not even JSON");
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="test"']);
    expect(await read(response)).toMatchObject({
      id: null,
      error: { code: -32000, data: [{ reason: "UNAUTHENTICATED", domain: "nuncio" }] },
    });
  });

  test("for a body that is too large is JSON-RPC's own, with and without a length, and reaches a caller that still sends", async () => {
    server = await startHost({ maxBodyBytes: 100_000 });
    const large = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { x: "y".repeat(8_000_000) } });
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large));
        controller.close();
      },
    });
    for (const body of [large, chunked]) {
      const init = {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": "1.0" },
        body,
        duplex: "half",
      } as RequestInit;
      const response = await fetch(server.url, init);
      expect(response.status).toBe(413);
      expect(await read(response)).toMatchObject({
        id: null,
        error: { code: -32000, data: [{ reason: "REQUEST_TOO_LARGE", domain: "nuncio" }] },
      });
    }
  });
});

describe("a stream", () => {
  test("is one response a frame, with the event's position as its id, and ends by closing", async () => {
    server = await startHost();
    const response = await server.rpc("SendStreamingMessage", saying("count:2"));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("content-encoding")).toBeNull();
    const text = await response.text();
    expect(text).toMatch(/^id: 1\ndata: \{"jsonrpc":"2.0","id":7,"result":\{"task":/);
    expect(text.match(/^id: .*$/gm)).toEqual(["id: 1", "id: 2", "id: 3"]);
    expect(frames(text).map(({ id, result }) => [id, Object.keys(result ?? {})[0]])).toEqual([
      [7, "task"],
      [7, "artifactUpdate"],
      [7, "artifactUpdate"],
      [7, "statusUpdate"],
    ]);
  });

  test("resumes where Last-Event-ID says", async () => {
    server = await startHost();
    await server.rpc("SendMessage", saying("count:3"));
    const text = await (await server.rpc("SubscribeToTask", { id: "count:3" }, { "last-event-id": "3" })).text();
    expect(text.match(/^id: .*$/gm)).toEqual(["id: 4"]);
  });

  test("that fails before its first event is a plain error", async () => {
    server = await startHost();
    const cases = [
      ["SubscribeToTask", { id: "none" }, -32001],
      ["SendStreamingMessage", { message: { ...saying("x").message, taskId: "none" } }, -32001],
      ["SendStreamingMessage", saying("fail"), -32603],
      ["SendStreamingMessage", saying("empty"), -32006],
      ["SendStreamingMessage", {}, -32602],
    ] as const;
    for (const [method, params, code] of cases) {
      const response = await server.rpc(method, params);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await read(response)).toMatchObject({ id: 7, error: { code } });
    }
    await eventually(() => server.handler.open.streams === 0);
  });

  test("that fails later ends with a frame that says so", async () => {
    server = await startHost();
    const all = frames(await (await server.rpc("SendStreamingMessage", saying("late-fail"))).text());
    expect(all).toHaveLength(4);
    expect(all.at(-1)).toMatchObject({
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32006, data: [{ reason: "INVALID_AGENT_RESPONSE" }] },
    });
  });

  test("writes text as UTF-8, as an answer does", async () => {
    server = await startHost();
    expect(await (await server.rpc("SendStreamingMessage", saying("日本語"))).text()).toContain("日本語");
    expect(await (await server.rpc("SendMessage", saying("日本語"))).text()).toContain("日本語");
  });
});
