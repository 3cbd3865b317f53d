import { create, toBinary } from "@bufbuild/protobuf";
import { type MessageName, validate } from "nuncio";
import { type AgentCardJson, ListTasksRequestSchema, MessageSchema, Role, TaskSchema, TaskState } from "nuncio/types";
import { describe, expect, test } from "vitest";

const task = { id: "t", status: { state: "TASK_STATE_WORKING" } };
const rules = (name: MessageName, payload: unknown) =>
  validate(name, payload).map(({ path, rule, section }) => `${path} ${rule} ${section}`);

describe("validate", () => {
  test("says nothing of what is valid, however it comes", () => {
    const message = create(TaskSchema, { id: "t", status: { state: TaskState.WORKING } });
    for (const payload of [task, JSON.stringify(task), message, toBinary(TaskSchema, message)])
      expect(validate("Task", payload)).toEqual([]);
  });

  test.each([
    ["a name of the proto", { ...task, context_id: "c" }, ["context_id NAME §5.5"]],
    ["a number for an enum", { id: "t", status: { state: 2 } }, ["status.state ENUM §5.5"]],
    [
      "a time with an offset",
      { id: "t", status: { ...task.status, timestamp: "2026-01-01T00:00:00+02:00" } },
      ["status.timestamp TIMESTAMP §5.6.1"],
    ],
    ["an unknown field", { ...task, createdAt: "now" }, ["createdAt UNKNOWN_FIELD §5.7"]],
    ["an absent and an empty member", { id: "" }, ["id REQUIRED §5.7", "status REQUIRED §5.7"]],
    [
      "everything at once",
      {
        ...task,
        artifacts: [
          { artifactId: "a", parts: [{ text: "x", url: "y" }, {}] },
          { artifactId: "b", parts: [] },
        ],
      },
      ["artifacts[0].parts[0] ONEOF §4.1.6", "artifacts[0].parts[1] ONEOF §4.1.6", "artifacts[1].parts REQUIRED §5.7"],
    ],
    ["no object", [], [" TYPE §5.6"]],
    ["no JSON", "{", [" JSON §5.5"]],
  ])("finds %s, though a reader might take it", (_, payload, found) => {
    expect(rules("Task", payload)).toEqual(found);
  });

  test("wants REQUIRED members of an answer there, and lets those be empty that may", () => {
    expect(rules("ListTasksResponse", { tasks: [] })).toEqual([
      "nextPageToken REQUIRED §5.7",
      "pageSize REQUIRED §5.7",
      "totalSize REQUIRED §5.7",
    ]);
    expect(rules("ListTasksResponse", { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 })).toEqual([]);
    expect(rules("ListTasksResponse", new Uint8Array())).toEqual([]);
    const card: AgentCardJson = {
      name: "a",
      description: "",
      version: "1",
      supportedInterfaces: [],
      capabilities: {},
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
    };
    expect(rules("AgentCard", card)).toEqual([]);
    expect(rules("AgentCard", { ...card, skills: undefined })).toEqual(["skills REQUIRED §5.7"]);
  });

  test("finds numbers out of bounds, in JSON and in bytes, beside whatever else is wrong", () => {
    const list = { pageSize: 1_000, historyLength: -1, contextId: 5 };
    expect(rules("ListTasksRequest", list)).toEqual([
      "pageSize RANGE §3.1.4",
      "historyLength RANGE §3.2.4",
      "contextId TYPE §5.6",
    ]);
    expect(rules("ListTasksRequest", { pageSize: 0 })).toEqual(["pageSize RANGE §3.1.4"]);
    expect(rules("ListTasksRequest", { pageSize: 1 })).toEqual([]);
    expect(rules("ListTasksRequest", { pageSize: 100, historyLength: 0 })).toEqual([]);
    expect(rules("ListTaskPushNotificationConfigsRequest", { taskId: "t", pageSize: 0 })).toEqual([]);
    expect(rules("ListTaskPushNotificationConfigsRequest", { taskId: "t", pageSize: 101 })).toHaveLength(1);
    expect(rules("GetTaskRequest", { id: "t", historyLength: -3 })).toEqual(["historyLength RANGE §3.2.4"]);
    const configuration = { historyLength: -3 };
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
    expect(rules("SendMessageRequest", { message, configuration })).toEqual([
      "configuration.historyLength RANGE §3.2.4",
    ]);
    const bytes = toBinary(ListTasksRequestSchema, create(ListTasksRequestSchema, { pageSize: 101 }));
    expect(rules("ListTasksRequest", bytes)).toEqual(["pageSize RANGE §3.1.4"]);
  });

  test("finds in bytes what bytes can break, fields of no contract too", () => {
    const message = create(MessageSchema, { messageId: "m", role: Role.AGENT });
    const state: TaskState = Number("99"); // a newer version's
    const bytes = toBinary(TaskSchema, create(TaskSchema, { id: "t", status: { state, message }, history: [message] }));
    const history = [...bytes, 0xf8, 0x01, 1];
    expect(rules("Task", new Uint8Array(history))).toEqual([
      "status.state ENUM §5.5",
      "status.message.parts REQUIRED §5.7",
      "history[0].parts REQUIRED §5.7",
      "31 UNKNOWN_FIELD §5.7",
    ]);
    expect(validate("Task", new Uint8Array(history), { unknownFields: "ignore" })).toHaveLength(3);
    expect(rules("Task", new Uint8Array([7, 7, 7]))).toEqual([" PROTOBUF §10.1"]);
  });

  test("a message of another type is none of this", () => {
    expect(rules("Message", create(TaskSchema))).toEqual([" TYPE §4"]);
  });

  test("unknown fields can be let go", () => {
    expect(validate("Task", { ...task, createdAt: "now" }, { unknownFields: "ignore" })).toEqual([]);
  });

  test("a name that the contract doesn't have is a fault of the caller, told what there is", () => {
    expect(() => validate("Tusk" as MessageName, task)).toThrow(/no message "Tusk"; there is .*Task/);
    expect(() => validate("task" as MessageName, task)).toThrow(/there is Task, /);
  });

  test("hostile payloads cost little and change nothing", () => {
    const deep = JSON.parse(`${'{"metadata":{"a":'.repeat(1)}${"[".repeat(90)}${"]".repeat(90)}}}`);
    expect(rules("Message", { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }], ...deep })).toHaveLength(1);
    expect(rules("Task", JSON.parse('{"__proto__":{"x":1},"id":"t","status":{"state":"TASK_STATE_WORKING"}}'))).toEqual(
      ["__proto__ UNKNOWN_FIELD §5.7"],
    );
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (__, index) => [`f${index}`, 1]));
    expect(validate("Task", many)).toHaveLength(100);
  });
});
