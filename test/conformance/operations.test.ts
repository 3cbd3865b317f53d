import type { JsonObject } from "@bufbuild/protobuf";
import { A2AError, agent, extension } from "nuncio";
import { describe, expect, test } from "vitest";
import { answerOf, ask, saying, verdictOf } from "../support/asking.js";
import { exchange, type Operation, requestOf, WIRES, type Wire } from "../support/exchange.js";
import { scripted } from "../support/scripted-agent.js";
import { served } from "../support/served.js";
import { byHeader, extended } from "../support/serving.js";

const on = served();

interface Task {
  id: string;
  contextId: string;
  status: { state: string };
}

/** Every operation of §5.3, with a request that is whole. */
const EVERY: readonly [Operation, JsonObject][] = [
  ["SendMessage", saying("Ada")],
  ["SendStreamingMessage", saying("Ada")],
  ["GetTask", { id: "t" }],
  ["ListTasks", {}],
  ["CancelTask", { id: "t" }],
  ["SubscribeToTask", { id: "t" }],
  ["CreateTaskPushNotificationConfig", { taskId: "t", url: "https://hook.example/" }],
  ["GetTaskPushNotificationConfig", { taskId: "t", id: "c" }],
  ["ListTaskPushNotificationConfigs", { taskId: "t" }],
  ["DeleteTaskPushNotificationConfig", { taskId: "t", id: "c" }],
  ["GetExtendedAgentCard", {}],
];

describe.each(WIRES)("over %s", (wire) => {
  const call = (operation: Operation, request: JsonObject) => ask(on.url, wire, operation, request);
  const send = async (text: string, fields: JsonObject = {}, configuration: JsonObject = {}) =>
    answerOf<{ task: Task }>(await call("SendMessage", saying(text, fields, { configuration }))).task;

  test("every operation is there under the name that the mapping gives it (§5.3)", async () => {
    const verdicts = await Promise.all(
      EVERY.map(async ([operation, request]) => verdictOf(await call(operation, request))),
    );
    expect(verdicts).toEqual([
      "ok",
      "ok",
      "TASK_NOT_FOUND",
      "ok",
      "TASK_NOT_FOUND",
      "TASK_NOT_FOUND",
      ...Array.from({ length: 4 }, () => "PUSH_NOTIFICATION_NOT_SUPPORTED"),
      "UNSUPPORTED_OPERATION",
    ]);
  });

  test("returnImmediately does nothing to a direct answer and to a stream (§3.2.2)", async () => {
    const configuration = { returnImmediately: true };
    const { messages } = await call("SendMessage", saying("direct Hi", {}, { configuration }));
    expect(messages[0]).toHaveProperty("message");
    const stream = await call("SendStreamingMessage", saying("chunks a|b", {}, { configuration }));
    expect(stream.messages.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  test("each task has an id and a context of its own, made by the server (§3.4.1, §3.4.2)", async () => {
    const tasks = await Promise.all(Array.from({ length: 20 }, () => send("Ada")));
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(20);
    expect(new Set(tasks.map(({ contextId }) => contextId)).size).toBe(20);
  });

  test("a context without a task begins a new task in it (§3.4.3)", async () => {
    const first = await send("Ada");
    const second = await send("Ada", { contextId: first.contextId });
    expect([second.contextId, second.id === first.id]).toEqual([first.contextId, false]);
  });

  test("reading and canceling again changes nothing (§3.3.1)", async () => {
    const { id } = await send("ask");
    const [one, other] = [await call("GetTask", { id }), await call("GetTask", { id })];
    expect(one).toEqual(other);
    const [canceled, again] = [await call("CancelTask", { id }), await call("CancelTask", { id })];
    expect(answerOf(again)).toEqual(answerOf(canceled));
  });

  test("a stream ends when the task has ended, and at a question (§3.1.2, §11.7)", async () => {
    for (const [text, state] of [
      ["Ada", "COMPLETED"],
      ["fail x", "FAILED"],
      ["reject x", "REJECTED"],
      ["ask", "INPUT_REQUIRED"],
    ]) {
      const { messages } = await call("SendStreamingMessage", saying(text ?? ""));
      expect(messages.at(-1)).toMatchObject({ statusUpdate: { status: { state: `TASK_STATE_${state}` } } });
    }
  });

  test("a media type that the agent neither takes nor gives is ContentTypeNotSupported (§3.1.1)", async () => {
    const file = saying("", { parts: [{ url: "https://a.example/v", mediaType: "video/mp4" }] });
    const output = saying("x", {}, { configuration: { acceptedOutputModes: ["image/png"] } });
    for (const request of [file, output])
      for (const operation of ["SendMessage", "SendStreamingMessage"] as const)
        expect(verdictOf(await call(operation, request))).toBe("CONTENT_TYPE_NOT_SUPPORTED");
  });
});

describe("an agent that doesn't stream", () => {
  const plain = agent({ name: "Plain", description: "Plain", capabilities: { streaming: false }, reply: () => "x" });
  const on = served({}, plain);

  test.each(WIRES)("refuses streams as unsupported over %s, and answers otherwise (§3.3.4)", async (wire) => {
    expect(verdictOf(await ask(on.url, wire, "SendStreamingMessage", saying("x")))).toBe("UNSUPPORTED_OPERATION");
    expect(verdictOf(await ask(on.url, wire, "SubscribeToTask", { id: "t" }))).toBe("UNSUPPORTED_OPERATION");
    expect(verdictOf(await ask(on.url, wire, "SendMessage", saying("x")))).toBe("ok");
  });
});

describe("what the agent doesn't offer", () => {
  const strict = extension({ uri: "https://x.example/strict/v1", description: "Must be there", required: true });
  const facts = { description: "Plain", capabilities: { streaming: false as const }, reply: () => "x" };
  const plain = agent({ ...facts, name: "Plain" });
  const guarded = agent({ ...facts, name: "Guarded", extensions: [strict] });
  const on = served({}, { agents: { plain, scripted, guarded } });
  const notWhole: readonly [Operation, JsonObject][] = [
    ["CreateTaskPushNotificationConfig", { taskId: "t" }],
    ["GetTaskPushNotificationConfig", { taskId: "t", id: "" }],
    ["ListTaskPushNotificationConfigs", { taskId: "" }],
    ["DeleteTaskPushNotificationConfig", { taskId: "t", id: "" }],
    ["SendStreamingMessage", { message: { role: "ROLE_USER" } }],
    ["SubscribeToTask", { id: "" }],
  ];
  /** No path has an empty segment: there the query contradicts it. */
  const wrong = (wire: Wire, request: JsonObject): JsonObject =>
    wire !== "HTTP+JSON" || !Object.values(request).includes("")
      ? request
      : { ...request, id: request.id || "x", taskId: request.taskId || "x", task_id: "another" };

  test.each(WIRES)("is refused as that over %s also when the request isn't whole (§3.3.4)", async (wire) => {
    const verdict = async (operation: Operation, request: JsonObject, headers = {}) =>
      verdictOf(await ask(on.url, wire, operation, wrong(wire, request), headers));
    for (const [operation, request] of notWhole) {
      const refusal = operation.includes("Push") ? "PUSH_NOTIFICATION_NOT_SUPPORTED" : "UNSUPPORTED_OPERATION";
      for (const tenant of [{}, { tenant: "plain" }])
        expect([operation, await verdict(operation, { ...request, ...tenant })]).toEqual([operation, refusal]);
      const activated = { "a2a-extensions": strict.uri };
      expect(await verdict(operation, { ...request, tenant: "guarded" })).toBe("EXTENSION_SUPPORT_REQUIRED");
      expect(await verdict(operation, { ...request, tenant: "guarded" }, activated)).toBe(refusal);
    }
    const noParts = { message: { role: "ROLE_USER" }, tenant: "scripted" };
    expect(await verdict("SendStreamingMessage", noParts)).toBe("INVALID_PARAMS"); // this one streams
    expect(await verdict("SendMessage", { message: {} })).toBe("INVALID_PARAMS");
  });
});

describe("who is asking", () => {
  const on = served({
    auth: {
      ...byHeader,
      denied: {
        type: "custom",
        scheme: { httpAuthSecurityScheme: { scheme: "Bearer" } },
        authenticate: ({ headers }) => {
          if (headers.get("authorization") !== "Bearer narrow") return undefined;
          throw new A2AError("PERMISSION_DENIED", "The scope tasks:read is missing");
        },
      },
    },
    extendedCard: extended,
  });

  test.each(WIRES)("is asked for on every operation over %s, with what would do (§7.4, §3.3.2)", async (wire) => {
    for (const [operation, request] of EVERY) {
      const outcome = await ask(on.url, wire, operation, request);
      expect([operation, verdictOf(outcome)]).toEqual([operation, "UNAUTHENTICATED"]);
    }
    const received = await exchange(on.url, wire, requestOf(wire, "ListTasks", {}));
    const said = { ...received.headers, ...received.trailers }["www-authenticate"] ?? received.body.toString();
    expect(said).toMatch(/ApiKey realm="a2a", Bearer realm="a2a"/);
    if (wire === "JSON-RPC" || wire === "HTTP+JSON") expect(received.status).toBe(401);
  });

  test.each(WIRES)("and lacks a permission is told which one over %s (§3.3.2)", async (wire) => {
    const headers = { authorization: "Bearer narrow" };
    const outcome = await ask(on.url, wire, "ListTasks", {}, headers);
    expect([verdictOf(outcome), outcome.error?.message]).toEqual([
      "PERMISSION_DENIED",
      "The scope tasks:read is missing",
    ]);
    if (wire === "JSON-RPC" || wire === "HTTP+JSON") expect(outcome.status).toBe(403);
  });

  test.each(WIRES)("sees over %s only what is its own (§13.1)", async (wire) => {
    const [ann, bob] = [{ "x-user": "ann" }, { "x-user": "bob" }];
    const { task } = answerOf<{ task: Task }>(await ask(on.url, wire, "SendMessage", saying("ask"), ann));
    for (const [operation, request] of [
      ["GetTask", { id: task.id }],
      ["CancelTask", { id: task.id }],
      ["SubscribeToTask", { id: task.id }],
      ["SendMessage", saying("x", { taskId: task.id })],
      ["SendStreamingMessage", saying("x", { taskId: task.id })],
    ] as [Operation, JsonObject][]) {
      const [theirs, nobodys] = [
        await ask(on.url, wire, operation, request, bob),
        await ask(
          on.url,
          wire,
          operation,
          operation.startsWith("Send") ? saying("x", { taskId: "none" }) : { id: "none" },
          bob,
        ),
      ];
      expect([operation, theirs]).toEqual([operation, nobodys]);
      expect(verdictOf(theirs)).toBe("TASK_NOT_FOUND");
    }
    const listed = answerOf<{ tasks?: Task[] }>(await ask(on.url, wire, "ListTasks", {}, bob)).tasks ?? [];
    expect(listed.map(({ id }) => id)).not.toContain(task.id);
  });

  test.each(WIRES)("gets the extended card that is for it over %s (§3.1.11, §13.3)", async (wire) => {
    const card = answerOf<{ description: string }>(
      await ask(on.url, wire, "GetExtendedAgentCard", {}, { "x-user": "ann" }),
    );
    expect(card.description).toBe("Extended for ann");
  });
});

describe("an extended card that isn't whole", () => {
  const half = { anonymous: true, card: () => ({ name: "Half" }) };
  const on = served({ extendedCard: half });

  test.each(WIRES)("is an error of ours over %s, and never leaves (§5.7)", async (wire) => {
    expect(verdictOf(await ask(on.url, wire, "GetExtendedAgentCard", {}))).toBe("INTERNAL");
  });
});
