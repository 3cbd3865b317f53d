import { describe, expect, test } from "vitest";
import { answerOf, ask, saying, verdictOf } from "../support/asking.js";
import { exchange, requestOf } from "../support/exchange.js";
import { outcomeOf } from "../support/outcome.js";
import { served } from "../support/served.js";

const on = served({ limits: { bodyBytes: 1024 * 1024 } });
const version = { "a2a-version": "1.0" };
const at = (path: string, init: RequestInit = {}) =>
  fetch(`${on.url}/a2a${path}`, { ...init, headers: { ...version, ...(init.headers as Record<string, string>) } });
const parked = async () =>
  answerOf<{ task: { id: string } }>(await ask(on.url, "HTTP+JSON", "SendMessage", saying("ask"))).task.id;

test("R-02: an id and its verb are told apart, and an unknown verb is a 404 of this binding", async () => {
  const id = await parked();
  expect((await at(`/tasks/${id}:cancel`, { method: "POST" })).status).toBe(200);
  for (const path of [`/tasks/${id}:pause`, `/tasks/${id}:cancel:cancel`, `/tasks/${id}:`]) {
    const response = await at(path, { method: "POST" });
    expect([path, response.status]).toEqual([path, 404]);
    expect(await response.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
  }
});

test.each([
  ["GET", undefined],
  ["POST", undefined],
  ["POST", "{}"],
] as const)(
  "R-01: %s with the body %j subscribes, and doesn't get a task whose id ends in :subscribe",
  async (method, body) => {
    const id = await parked();
    const init = { method, ...(body !== undefined && { body, headers: { "content-type": "application/json" } }) };
    const response = await at(`/tasks/${id}:subscribe`, init);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect((await at(`/tasks/${id}:cancel`, { method: "POST" })).status).toBe(200);
    const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ""));
    expect(events[0]).toMatchObject({ task: { id, status: { state: "TASK_STATE_INPUT_REQUIRED" } } });
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_CANCELED" } } });
  },
);

test.each(["application/json", "application/json; charset=utf-8", "application/a2a+json"])(
  "R-05: a request in %s is taken, and the answer is in a2a+json",
  async (type) => {
    const body = JSON.stringify(saying("Ada"));
    const response = await at("/message:send", { method: "POST", body, headers: { "content-type": type } });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/a2a+json"]);
    expect((await (await at("/tasks", { headers: { accept: "application/json" } })).headers).get("content-type")).toBe(
      "application/json",
    );
  },
);

test("R-06: an error is a google.rpc.Status, and a task that can't be canceled is a 400", async () => {
  const none = await at("/tasks/none");
  expect([none.status, await none.json()]).toEqual([
    404,
    {
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "Task not found",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
          },
        ],
      },
    },
  ]);
  const { task } = answerOf<{ task: { id: string } }>(await ask(on.url, "HTTP+JSON", "SendMessage", saying("Ada")));
  const ended = await at(`/tasks/${task.id}:cancel`, { method: "POST" });
  expect([ended.status, ended.headers.get("content-type")]).toEqual([400, "application/a2a+json"]);
});

test.each([
  ["an empty body in JSON", { headers: { "content-type": "application/json" } }],
  ["null", { headers: { "content-type": "application/json" }, body: "null" }],
  ["{}", { headers: { "content-type": "application/a2a+json" }, body: "{}" }],
  ["nothing", {}],
] as [string, RequestInit][])("R-04: a cancel with %s is a cancel", async (_what, init) => {
  const response = await at(`/tasks/${await parked()}:cancel`, { method: "POST", ...init });
  expect([response.status, ((await response.json()) as { status: object }).status]).toMatchObject([
    200,
    { state: "TASK_STATE_CANCELED" },
  ]);
});

describe("R-07: nobody sees a page of the framework", () => {
  const json = { "content-type": "application/json" };
  test.each([
    ["no JSON", "/message:send", { method: "POST", body: "{", headers: json }, 400],
    ["another method", "/tasks/t", { method: "PATCH" }, 405],
    ["a method that HTTP hardly knows", "/tasks", { method: "PROPFIND" }, 405],
    ["a body of 2 MB", "/message:send", { method: "POST", body: `"${"x".repeat(2e6)}"`, headers: json }, 413],
    [
      "another media type",
      "/message:send",
      { method: "POST", body: "<a/>", headers: { "content-type": "text/xml" } },
      400,
    ],
    ["a form", "/message:send", { method: "POST", body: new URLSearchParams({ a: "b" }) }, 400],
    ["no such path", "/tasks/t/artifacts", {}, 404],
    ["a path that is no UTF-8", "/tasks/%ff", {}, 400],
  ] as [string, string, RequestInit, number][])("for %s", async (_what, path, init, status) => {
    const response = await at(path, init);
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/a2a+json"]);
    expect(await response.json()).toMatchObject({
      error: { code: status, status: expect.stringMatching(/^[A-Z_]+$/) },
    });
  });

  test("outside of every binding", async () => {
    for (const path of ["/", "/favicon.ico", "/agents/none/.well-known/agent-card.json"]) {
      const response = await fetch(`${on.url}${path}`);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
    }
  });

  test("HEAD doesn't run a stream", async () => {
    const id = await parked();
    const response = await at(`/tasks/${id}:subscribe`, { method: "HEAD" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, GET"]);
  });
});

test("R-08: query parameters are read by their type, in both spellings; contradictions and bad booleans are refused", async () => {
  const list = async (query: string) => {
    const sent = requestOf("HTTP+JSON", "ListTasks", {});
    const received = await exchange(on.url, "HTTP+JSON", { ...sent, path: `/a2a/tasks?${query}` });
    const outcome = outcomeOf("HTTP+JSON", "ListTasks", received);
    return [verdictOf(outcome), ...(outcome.error?.fields ?? [])];
  };
  expect(await list("pageSize=2&pageSize=2&includeArtifacts=true")).toEqual(["ok"]);
  expect(await list("page_size=2&status_timestamp_after=2026-01-01T00:00:00%2B02:00")).toEqual(["ok"]);
  expect(await list("pageSize=2&pageSize=3")).toEqual(["INVALID_PARAMS", "pageSize"]);
  expect(await list("includeArtifacts=True")).toEqual(["INVALID_PARAMS", "includeArtifacts"]);
  expect(await list("includeArtifacts=1")).toEqual(["INVALID_PARAMS", "includeArtifacts"]);
  expect(await list("statusTimestampAfter=2026-01-01T00:00:00+02:00")).toEqual([
    "INVALID_PARAMS",
    "statusTimestampAfter",
  ]);
  expect(await list("__proto__=1&constructor=2&colour=red")).toEqual(["ok"]);
});
