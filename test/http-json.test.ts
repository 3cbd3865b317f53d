import { afterEach, describe, expect, test } from "vitest";
import { A2AError, errorTable } from "../src/a2a/errors.js";
import { v1 } from "../src/a2a/v1.js";
import { eventually, otherVersion, saying, startHost, type TestHost } from "./support/host.js";

let server: TestHost;
afterEach(async () => {
  server.handler.letGo();
  await server.host.close();
});

interface Refusal {
  error: { code: number; status: string; message: string; details?: Record<string, unknown>[] };
}

const read = async (response: Response) => (await response.json()) as Refusal;
const lastCall = () => server.handler.calls.at(-1);

async function withTask(id: string, context: Parameters<typeof startHost>[0] = {}): Promise<void> {
  server = await startHost(context);
  await server.post("/message:send", saying(id));
}

describe("a route", () => {
  test("is each of the descriptor's, with its values from the path", async () => {
    await withTask("t");
    const config = { url: "https://hook.example/" };
    const routes: [string, string, string, object, unknown?][] = [
      ["POST", "/message:send", "sendMessage", {}, saying("t")],
      ["POST", "/message:stream", "sendStreamingMessage", {}, saying("t")],
      ["GET", "/tasks/t", "getTask", { id: "t" }],
      ["GET", "/tasks", "listTasks", {}],
      ["POST", "/tasks/t:cancel", "cancelTask", { id: "t" }],
      ["GET", "/tasks/t:subscribe", "subscribeToTask", { id: "t" }],
      ["POST", "/tasks/t:subscribe", "subscribeToTask", { id: "t" }],
      [
        "POST",
        "/tasks/t/pushNotificationConfigs",
        "createTaskPushNotificationConfig",
        { taskId: "t", url: config.url },
        config,
      ],
      ["GET", "/tasks/t/pushNotificationConfigs/c", "getTaskPushNotificationConfig", { taskId: "t", id: "c" }],
      ["GET", "/tasks/t/pushNotificationConfigs", "listTaskPushNotificationConfigs", { taskId: "t" }],
      ["DELETE", "/tasks/t/pushNotificationConfigs/c", "deleteTaskPushNotificationConfig", { taskId: "t", id: "c" }],
      ["GET", "/extendedAgentCard", "getExtendedAgentCard", {}],
    ];
    for (const [method, path, name, request, body] of routes) {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { "a2a-version": "1.0", ...(body !== undefined && { "content-type": "application/a2a+json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      await response.text();
      expect([path, response.status, lastCall()?.name]).toEqual([path, 200, name]);
      expect(lastCall()?.request).toMatchObject(request);
    }
  });

  test("is not there for an unknown path or verb, and an id never swallows a verb", async () => {
    await withTask("t");
    const before = server.handler.calls.length;
    for (const path of [
      "/",
      "/foo",
      "/tasks/",
      "/tasks/t/",
      "/tasks/t:unknown",
      "/tasks/t:",
      "/tasks/:cancel",
      "/message:sendd",
      "/message",
      "/tasks//pushNotificationConfigs",
      "/tasks/t/pushNotificationConfigs/c:cancel",
      "/TASKS",
      "/tasks/t:cancel/",
    ]) {
      for (const method of ["GET", "POST"]) {
        if (path === "/" && method === "POST") continue; // JSON-RPC's
        const response = await fetch(`${server.url}${path}`, { method, headers: { "a2a-version": "1.0" } });
        const { error } = await (path === "/" ? { error: undefined } : read(response));
        if (path !== "/")
          expect([path, response.status, error?.code, error?.status]).toEqual([path, 404, 404, "NOT_FOUND"]);
      }
    }
    expect(server.handler.calls.length).toBe(before);
  });

  test("takes the text before the last known verb as the id, percent-decoded", async () => {
    server = await startHost();
    const ids = ["a:b", "a/b", "a b", "ä€😀", "a%2Fb", "a:cancel", "a?b#c", "x".repeat(3_000), "constructor"];
    for (const id of ids) {
      await server.post(`/tasks/${encodeURIComponent(id)}:cancel`);
      expect(lastCall()).toMatchObject({ name: "cancelTask", request: { id } });
      await server.get(`/tasks/${encodeURIComponent(id)}`);
      expect(lastCall()).toMatchObject({ name: "getTask", request: { id } });
    }
    await server.post("/tasks/a:b:cancel");
    expect(lastCall()).toMatchObject({ name: "cancelTask", request: { id: "a:b" } });
  });

  test("by another method is 405 that lists those which are there; a stream has no HEAD", async () => {
    await withTask("t");
    const before = server.handler.calls.length;
    const cases: [string, string, string][] = [
      ["GET", "/message:send", "POST"],
      ["DELETE", "/tasks/t", "GET"],
      ["HEAD", "/tasks/t:subscribe", "POST, GET"],
      ["PUT", "/tasks/t:subscribe", "POST, GET"],
      ["HEAD", "/tasks/t", "GET"],
      ["PROPFIND", "/tasks", "GET"],
      ["OPTIONS", "/tasks/t/pushNotificationConfigs", "POST, GET"],
    ];
    for (const [method, path, allow] of cases) {
      const response = await fetch(`${server.url}${path}`, { method, headers: { "a2a-version": "1.0" } });
      expect([method, path, response.status, response.headers.get("allow")]).toEqual([method, path, 405, allow]);
      if (method !== "HEAD") expect((await read(response)).error).toMatchObject({ code: 405, status: "UNIMPLEMENTED" });
    }
    expect(server.handler.calls.length).toBe(before);
  });

  test("with a malformed path is a small error of this binding", async () => {
    server = await startHost();
    for (const path of ["/tasks/%zz", "/tasks/%ff:cancel", "/tasks/%"]) {
      const response = await fetch(`${server.url}${path}`, { method: "POST", headers: { "a2a-version": "1.0" } });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect((await read(response)).error.code).toBe(response.status);
    }
  });
});

test("a path of another version is not found, and the hint says whose it is", async () => {
  server = await startHost({ versions: [v1, otherVersion] });
  const ask = async (path: string, version: string) => {
    const response = await server.get(path, { "a2a-version": version });
    return [response.status, (await read(response)).error?.message];
  };
  expect([await ask("/tasks", "1.0"), await ask("/v9/tasks", "9.1")]).toEqual([
    [200, undefined],
    [200, undefined],
  ]);
  expect(await ask("/v9/tasks", "1.0")).toEqual([404, expect.stringContaining("9.1")]);
  expect(await ask("/tasks", "9.1")).toEqual([404, expect.stringContaining("1.0")]);
});

describe("a tenant", () => {
  test("has no routes where none is configured", async () => {
    server = await startHost();
    for (const path of ["/foo/tasks", "/foo/message:send", "/v1/tasks", "/foo/extendedAgentCard"]) {
      expect((await server.get(path)).status).toBe(404);
      expect((await server.post(path, {})).status).toBe(404);
    }
    expect(server.handler.calls).toEqual([]);
  });

  test("that is configured has them all, and is bound from the path", async () => {
    server = await startHost({ tenants: true });
    expect((await server.get("/acme%20corp/tasks?pageSize=3")).status).toBe(200);
    expect(lastCall()).toMatchObject({
      name: "listTasks",
      request: { tenant: "acme corp", pageSize: 3 },
      call: { tenant: "acme corp" },
    });
    expect((await server.post("/acme%20corp/message:send", { ...saying("t"), tenant: "acme corp" })).status).toBe(200);
  });

  test("in the body that contradicts the path is refused; so is any other field", async () => {
    server = await startHost({ tenants: true });
    const first = await server.post("/acme/message:send", { ...saying("t"), tenant: "other" });
    expect(first.status).toBe(400);
    expect((await read(first)).error).toMatchObject({
      status: "INVALID_ARGUMENT",
      details: [{ fieldViolations: [{ field: "tenant" }] }],
    });
    for (const body of [{ id: "u" }, { id: 5 }]) expect((await server.post("/tasks/t:cancel", body)).status).toBe(400);
    for (const body of [
      { task_id: "u", url: "https://x.example" },
      { taskId: "t", task_id: "u", url: "https://x.example" },
    ]) {
      expect((await server.post("/tasks/t/pushNotificationConfigs", body)).status).toBe(400);
    }
    expect(server.handler.calls).toEqual([]);
    for (const body of [{ id: "t" }, { id: "" }, { id: null }]) await server.post("/tasks/t:cancel", body);
    expect(server.handler.calls.map(({ request }) => (request as { id?: string }).id)).toEqual(["t", "t", "t"]);
  });
});

describe("a query parameter", () => {
  test("is read by the type of its field, in both spellings", async () => {
    server = await startHost();
    const query =
      "contextId=c%20c&page_size=7&status=TASK_STATE_WORKING&includeArtifacts=true&history_length=0&statusTimestampAfter=2026-01-01T00:00:00%2B02:00";
    expect((await server.get(`/tasks?${query}`)).status).toBe(200);
    expect(lastCall()?.request).toMatchObject({
      contextId: "c c",
      pageSize: 7,
      status: 2,
      includeArtifacts: true,
      historyLength: 0,
      statusTimestampAfter: { seconds: 1767218400n },
    });
  });

  test("that doesn't fit is a violation, and all of them come at once", async () => {
    server = await startHost();
    const response = await server.get(
      "/tasks?includeArtifacts=True&pageSize=abc&status=working&historyLength=1.5&contextId=a&contextId=b&statusTimestampAfter=x",
    );
    expect(response.status).toBe(400);
    const [details] = (await read(response)).error.details ?? [];
    const fields = ((details?.fieldViolations ?? []) as { field: string }[]).map(({ field }) => field);
    expect(fields.sort()).toEqual([
      "contextId",
      "historyLength",
      "includeArtifacts",
      "pageSize",
      "status",
      "statusTimestampAfter",
    ]);
  });

  test.each([
    "pageSize=2147483648",
    "historyLength=2147483648",
    "includeArtifacts=1",
    "includeArtifacts=",
    "pageSize=2&pageSize=3",
    "pageSize=2&page_size=3",
    "pageSize=0x10",
    "status=9999",
  ])("%s is refused", async (query) => {
    server = await startHost();
    expect((await server.get(`/tasks?${query}`)).status).toBe(400);
    expect(server.handler.calls).toEqual([]);
  });

  test("that says the same twice, or that nobody knows, does no harm", async () => {
    server = await startHost();
    expect(
      (await server.get("/tasks?pageSize=2&pageSize=2&__proto__=1&constructor=2&foo=bar&A2A-Version=1.0")).status,
    ).toBe(200);
    expect(lastCall()?.request).toMatchObject({ pageSize: 2 });
  });

  test("may name the version", async () => {
    server = await startHost();
    expect((await fetch(`${server.url}/tasks?a2a-version=1.0`)).status).toBe(200);
    const response = await fetch(`${server.url}/tasks`);
    expect(response.status).toBe(400);
    expect((await read(response)).error).toMatchObject({
      code: 400,
      status: "FAILED_PRECONDITION",
      message: expect.stringContaining("A2A-Version: 1.0"),
      details: [{ reason: "VERSION_NOT_SUPPORTED", metadata: { supportedVersions: "1.0" } }],
    });
    expect((await server.get("/tasks?A2A-Version=0.3")).status).toBe(400);
  });
});

describe("the media type", () => {
  test("of a body may be either, with parameters; another is CONTENT_TYPE_NOT_SUPPORTED", async () => {
    server = await startHost();
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "application/a2a+json",
      "application/a2a+json;v=1",
    ]) {
      expect((await server.post("/message:send", saying("t"), { "content-type": type })).status).toBe(200);
    }
    for (const type of ["text/plain", "application/xml", "application/x-www-form-urlencoded", "nonsense", "/"]) {
      const response = await server.post("/message:send", saying("t"), { "content-type": type });
      expect([type, response.status]).toEqual([type, 400]);
      expect((await read(response)).error.details).toMatchObject([
        { reason: "CONTENT_TYPE_NOT_SUPPORTED", domain: "a2a-protocol.org" },
      ]);
    }
  });

  test("of an answer is a2a+json, unless application/json is liked better", async () => {
    server = await startHost();
    const cases: [string | undefined, string][] = [
      [undefined, "application/a2a+json"],
      ["*/*", "application/a2a+json"],
      ["application/a2a+json, application/json", "application/a2a+json"],
      ["text/html, application/xhtml+xml, */*;q=0.8", "application/a2a+json"],
      ["text/html", "application/a2a+json"],
      ["application/json", "application/json"],
      ["application/json, */*;q=0.5", "application/json"],
      ["application/a2a+json;q=0.5, application/json;q=0.9", "application/json"],
      ["application/json;q=0, */*", "application/a2a+json"],
    ];
    for (const [accept, type] of cases) {
      for (const path of ["/tasks", "/tasks/none"]) {
        const response = await server.get(path, accept === undefined ? {} : { accept });
        expect([accept, response.headers.get("content-type")]).toEqual([accept, type]);
      }
    }
  });

  test("doesn't matter to an empty body; neither do null and {}", async () => {
    await withTask("t");
    const bodies: [string | undefined, string | undefined][] = [
      ["application/json", ""],
      ["application/json", "null"],
      ["application/json", "{}"],
      [undefined, undefined],
      ["text/plain", ""],
    ];
    for (const [type, body] of bodies) {
      for (const verb of ["cancel", "subscribe"]) {
        const headers: Record<string, string> = {
          "a2a-version": "1.0",
          ...(type !== undefined && { "content-type": type }),
        };
        const response = await fetch(`${server.url}/tasks/t:${verb}`, {
          method: "POST",
          headers,
          ...(body !== undefined && { body }),
        });
        await response.text();
        expect([type, body, response.status]).toEqual([type, body, 200]);
      }
    }
  });
});

describe("an error", () => {
  test("is a google.rpc.Status with the HTTP status and the name of its reason", async () => {
    server = await startHost();
    for (const [reason, row] of Object.entries(errorTable)) {
      if (reason === "INTERNAL") continue;
      const response = await server.post("/message:send", saying(`refuse:${reason}`));
      const { error } = await read(response);
      expect([reason, response.status, error.code]).toEqual([reason, row.http, row.http]);
      expect(error.status).toMatch(/^[A-Z_]+$/);
      if ("domain" in row)
        expect(error.details?.[0]).toMatchObject({
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason,
          domain: row.domain,
        });
      if (row.http === 401) expect(response.headers.get("www-authenticate")).toBe('Bearer realm="test"');
      if (row.http === 429) expect(response.headers.get("retry-after")).toBe("2");
    }
    const { error } = await read(await server.get("/tasks/none"));
    expect(error).toEqual({
      code: 404,
      status: "NOT_FOUND",
      message: "Task not found",
      details: [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
      ],
    });
  });

  test.each([
    ["{", 400],
    ["[]", 400],
    ['"x"', 400],
    ["5", 400],
    [`{"message":${"[".repeat(100_000)}`, 400],
  ])("of the body %.20s is in this shape", async (body, status) => {
    server = await startHost();
    const response = await server.post("/message:send", body);
    expect(response.status).toBe(status);
    expect((await read(response)).error).toMatchObject({ code: status, status: "INVALID_ARGUMENT" });
  });

  test("for a body that is too large is in this shape", async () => {
    server = await startHost({ maxBodyBytes: 50_000 });
    const response = await server.post("/message:send", saying("x".repeat(3_000_000)));
    expect(response.status).toBe(413);
    expect((await read(response)).error).toMatchObject({
      status: "RESOURCE_EXHAUSTED",
      details: [{ reason: "REQUEST_TOO_LARGE", domain: "nuncio" }],
    });
  });

  test("of authentication is 401 with a challenge, also for a stream", async () => {
    server = await startHost({ authenticate: async () => Promise.reject(new A2AError("UNAUTHENTICATED")) });
    for (const path of ["/message:send", "/message:stream"]) {
      const response = await server.post(path, saying("t"));
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="test"']);
      expect((await read(response)).error).toMatchObject({ code: 401, status: "UNAUTHENTICATED" });
    }
  });

  test("that nobody expected leaks nothing", async () => {
    server = await startHost();
    const response = await server.post("/message:send", saying("fail"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(/postgres|secret/);
    expect(server.errors).toHaveLength(1);
  });
});

describe("a stream", () => {
  test("is one StreamResponse a frame", async () => {
    server = await startHost();
    const response = await server.post("/message:stream", saying("count:1"));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const text = await response.text();
    expect(text).toMatch(/^id: 1\ndata: \{"task":\{"id":"count:1"/);
    expect(text.trimEnd().split("\n\n")).toHaveLength(3);
  });

  test("that fails before its first event has the status of the failure", async () => {
    server = await startHost();
    const cases: [string, unknown, number][] = [
      ["/message:stream", { message: { ...saying("x").message, taskId: "none" } }, 404],
      ["/message:stream", {}, 400],
      ["/message:stream", saying("fail"), 500],
      ["/message:stream", saying("empty"), 500],
      ["/tasks/none:subscribe", undefined, 404],
    ];
    for (const [path, body, status] of cases) {
      const response = await server.post(path, body);
      expect([path, response.status, response.headers.get("content-type")]).toEqual([
        path,
        status,
        "application/a2a+json",
      ]);
      expect((await read(response)).error.code).toBe(status);
    }
    await eventually(() => server.handler.open.streams === 0);
  });

  test("that fails later ends with an error frame", async () => {
    server = await startHost();
    const text = await (await server.post("/message:stream", saying("late-fail"))).text();
    const last = text.trimEnd().split("\n\n").at(-1) ?? "";
    expect(JSON.parse(last.replace(/^data: /, ""))).toMatchObject({
      error: { code: 500, status: "INTERNAL", details: [{ reason: "INVALID_AGENT_RESPONSE" }] },
    });
  });
});
