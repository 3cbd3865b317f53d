import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ListTasksRequestSchema, type ListTasksResponse, Role, SendMessageRequestSchema } from "../../src/a2a/types.js";
import { detailsOf, type GenericClient, genericClient, readAll } from "../support/grpc.js";
import { type Composed, startComposed } from "./support/composed.js";
import { jsonWires } from "./support/wires.js";

type Init = MessageInitShape<typeof SendMessageRequestSchema>;

interface Bad {
  readonly what: string;
  readonly reason: string;
  /** The JSON text of the request. */
  readonly json: string;
  /** The same as a message, where protobuf can say it. */
  readonly message?: Init;
  /** The path of one field that is named as wrong. */
  readonly field?: string;
}

const good = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };
const text = (value: string) => ({ content: { case: "text" as const, value } });
const goodInit = { messageId: "m", role: Role.USER, parts: [text("hi")] };

/** A request whose message differs from a good one. */
function message(
  what: string,
  changes: object,
  more: { field?: string; reason?: string; init?: Record<string, unknown> } = {},
): Bad {
  const { field, reason = "INVALID_PARAMS", init } = more;
  return {
    what,
    reason,
    json: JSON.stringify({ message: { ...good, ...changes } }),
    ...(field !== undefined && { field }),
    ...(init !== undefined && { message: { message: { ...goodInit, ...init } } as Init }),
  };
}

/** A request that has more than a good message. */
function beside(what: string, more: object, rest: { field?: string; reason?: string; init?: Init } = {}): Bad {
  const { field, reason = "INVALID_PARAMS", init } = rest;
  return {
    what,
    reason,
    json: JSON.stringify({ message: good, ...more }),
    ...(field !== undefined && { field }),
    ...(init !== undefined && { message: { message: goodInit, ...init } as Init }),
  };
}

const raw = (what: string, json: string, field?: string): Bad => ({
  what,
  reason: "INVALID_PARAMS",
  json,
  ...(field !== undefined && { field }),
});

const none = "01890000-0000-7000-8000-000000000000";
const config = { taskPushNotificationConfig: { url: "https://example.org/" } };

const table: readonly Bad[] = [
  { what: "no message", reason: "INVALID_PARAMS", json: "{}", message: {}, field: "message" },
  raw("null for a message", '{"message":null}', "message"),
  raw("a list for a message", '{"message":[]}', "message"),
  raw("a text for a message", '{"message":"hi"}', "message"),
  message("no messageId", { messageId: undefined }, { field: "message.messageId", init: { messageId: "" } }),
  message("an empty messageId", { messageId: "" }, { field: "message.messageId" }),
  message("a number for a messageId", { messageId: 5 }, { field: "message.messageId" }),
  message("NUL in a messageId", { messageId: "a\0b" }, { field: "message.messageId", init: { messageId: "a\0b" } }),
  message("half a surrogate pair in a messageId", { messageId: "a\ud800" }, { field: "message.messageId" }),
  message("NUL in a contextId", { contextId: "a\0b" }, { field: "message.contextId", init: { contextId: "a\0b" } }),
  message("half a surrogate pair in a contextId", { contextId: "\udc00a" }, { field: "message.contextId" }),
  message("no role", { role: undefined }, { field: "message.role", init: { role: Role.UNSPECIFIED } }),
  message("the agent's role", { role: "ROLE_AGENT" }, { field: "message.role", init: { role: Role.AGENT } }),
  message("a role of 0.3", { role: "user" }, { field: "message.role" }),
  message("a role that isn't there", { role: 99 }, { field: "message.role", init: { role: 99 as Role } }),
  message("no parts", { parts: undefined }, { field: "message.parts", init: { parts: [] } }),
  message("an empty list of parts", { parts: [] }, { field: "message.parts" }),
  message("an object for parts", { parts: {} }, { field: "message.parts" }),
  message("an empty part", { parts: [{}] }, { field: "message.parts[0]", init: { parts: [{}] } }),
  message("a part that is null", { parts: [null] }, { field: "message.parts[0]" }),
  message("a part that is a text", { parts: ["hi"] }, { field: "message.parts[0]" }),
  message("a part with two contents", { parts: [{ text: "a", url: "https://x" }] }, { field: "message.parts[0]" }),
  message("a text beside data that is null", { parts: [{ text: "a", data: null }] }, { field: "message.parts[0]" }),
  message(
    "a part of 0.3 that has no content of 1.0",
    { parts: [{ kind: "file", file: { uri: "https://x" } }] },
    { field: "message.parts[0]" },
  ),
  message("a number for a text", { parts: [{ text: 5 }] }, { field: "message.parts[0].text" }),
  message("bytes that are no base64", { parts: [{ raw: "***" }] }, { field: "message.parts[0].raw" }),
  message(
    "a data URI for bytes",
    { parts: [{ raw: "data:text/plain;base64,aGk=" }] },
    { field: "message.parts[0].raw" },
  ),
  message("a list for metadata", { metadata: [] }, { field: "message.metadata" }),
  message("a number among extensions", { extensions: [5] }, { field: "message.extensions[0]" }),
  message("a skill that isn't there", { metadata: { skill: "triple" } }, { init: { metadata: { skill: "triple" } } }),
  message("data that doesn't fit the skill", { metadata: { skill: "double" }, parts: [{ data: { n: "x" } }] }),
  message("a task that isn't there", { taskId: none }, { reason: "TASK_NOT_FOUND", init: { taskId: none } }),
  message(
    "a reference that isn't there",
    { referenceTaskIds: [none] },
    { reason: "TASK_NOT_FOUND", init: { referenceTaskIds: [none] } },
  ),
  message(
    "a file that nobody takes",
    { parts: [{ raw: "AAEC", mediaType: "audio/ogg" }] },
    {
      reason: "CONTENT_TYPE_NOT_SUPPORTED",
      init: { parts: [{ content: { case: "raw", value: new Uint8Array(3) }, mediaType: "audio/ogg" }] },
    },
  ),
  beside("a tenant that isn't there", { tenant: "x" }, { field: "tenant", init: { tenant: "x" } }),
  beside(
    "a negative history",
    { configuration: { historyLength: -1 } },
    { field: "configuration.historyLength", init: { configuration: { historyLength: -1 } } },
  ),
  beside(
    "half a message of history",
    { configuration: { historyLength: 1.5 } },
    { field: "configuration.historyLength" },
  ),
  beside(
    "more history than a number holds",
    { configuration: { historyLength: 2 ** 31 } },
    { field: "configuration.historyLength" },
  ),
  beside(
    "a text for a boolean",
    { configuration: { returnImmediately: "true" } },
    { field: "configuration.returnImmediately" },
  ),
  beside(
    "an output that the agent doesn't make",
    { configuration: { acceptedOutputModes: ["audio/ogg"] } },
    {
      reason: "CONTENT_TYPE_NOT_SUPPORTED",
      init: { configuration: { acceptedOutputModes: ["audio/ogg"] } },
    },
  ),
  beside(
    "a webhook",
    { configuration: config },
    { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED", init: { configuration: config } },
  ),
];

let composed: Composed;
let grpc: GenericClient;
beforeAll(async () => {
  composed = await startComposed();
  grpc = genericClient(new URL(composed.url).host);
});
afterAll(async () => {
  grpc.close();
  await composed.close();
});

describe.each(jsonWires)("over $name, a message", ({ send }) => {
  test.each(table)("with $what is refused: $reason", async ({ json, reason, field }) => {
    const verdict = await send(composed.url, json);
    expect(verdict.reason).toBe(reason);
    expect(verdict.status).toBeLessThan(500);
    if (field !== undefined) expect(verdict.fields).toContain(field);
  });
});

describe.each(["sendMessage", "sendStreamingMessage"])("over gRPC %s, a message", (method) => {
  const sayable = table.flatMap(({ message: init, ...rest }) => (init === undefined ? [] : [{ ...rest, init }]));
  test.each(sayable)("with $what is refused: $reason", async ({ init, reason, field }) => {
    const request = create(SendMessageRequestSchema, init);
    const error = await (method === "sendMessage"
      ? grpc.unary(method, request).catch((thrown: unknown) => thrown)
      : readAll(grpc.stream(method, request)).then((read) => read.error));
    const { info, badRequest } = detailsOf(error);
    expect(info?.reason ?? ((error as ServiceError).code === 3 ? "INVALID_PARAMS" : error)).toBe(reason);
    if (field !== undefined) expect(badRequest?.fieldViolations.map((one) => one.field)).toContain(field);
  });
});

test("after all of them nothing is listed, nothing is in the file, nothing was an error of ours, and the server serves", async () => {
  const listed = (await grpc.unary("listTasks", create(ListTasksRequestSchema))) as ListTasksResponse;
  expect(listed).toMatchObject({ tasks: [], totalSize: 0 });
  expect(composed.rows()).toEqual({ task: 0, event: 0, snapshot: 0, seen: 0 });
  expect(composed.errors).toEqual([]);
  for (const [index, { send }] of jsonWires.entries()) {
    const verdict = await send(composed.url, JSON.stringify({ message: { ...good, messageId: `good ${index}` } }));
    expect(verdict.reason).toBeUndefined();
    expect(verdict.task).toBeDefined();
  }
  expect(composed.rows().task).toBe(jsonWires.length);
});
