import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { decodeJson, encodeJson, violationsOf } from "../src/a2a/codec.js";
import {
  AgentCardSchema,
  GetTaskRequestSchema,
  ListTasksResponseSchema,
  MessageSchema,
  PartSchema,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
} from "../src/a2a/types.js";
import { again, message, part, refusal, refused, rules, task } from "./support/codec.js";

describe("what a request must hold", () => {
  it.each<[string, DescMessage, unknown, string[]]>([
    ["a payload that is a string", SendMessageRequestSchema, "x", [" TYPE"]],
    ["a payload that is an array", SendMessageRequestSchema, [], [" TYPE"]],
    ["a payload that is null", SendMessageRequestSchema, null, [" TYPE"]],
    ["nothing", SendMessageRequestSchema, {}, ["message REQUIRED"]],
    ["a null message", SendMessageRequestSchema, { message: null }, ["message REQUIRED"]],
    [
      "an empty message",
      SendMessageRequestSchema,
      { message: {} },
      ["message.messageId REQUIRED", "message.role REQUIRED", "message.parts REQUIRED"],
    ],
    [
      "empty values",
      SendMessageRequestSchema,
      { message: { messageId: "", role: "ROLE_UNSPECIFIED", parts: [] } },
      ["message.messageId REQUIRED", "message.role REQUIRED", "message.parts REQUIRED"],
    ],
    ["a role 0", SendMessageRequestSchema, { message: { ...message, role: 0 } }, ["message.role REQUIRED"]],
    ["a part without content", SendMessageRequestSchema, part({}), ["message.parts[0] ONEOF"]],
    ["a part with null text", SendMessageRequestSchema, part({ text: null }), ["message.parts[0] ONEOF"]],
    [
      "a part with two contents",
      SendMessageRequestSchema,
      part({ text: "a", url: "https://x" }),
      ["message.parts[0] ONEOF"],
    ],
    ["text beside null data", SendMessageRequestSchema, part({ text: "a", data: null }), ["message.parts[0] ONEOF"]],
    [
      "a part that is null",
      SendMessageRequestSchema,
      { message: { ...message, parts: [null] } },
      ["message.parts[0] TYPE"],
    ],
    ["an id that is missing", GetTaskRequestSchema, {}, ["id REQUIRED"]],
    ["a state that doesn't exist", TaskStatusSchema, { state: "TASK_STATE_PAUSED" }, ["state ENUM"]],
    ["a state number that doesn't exist", TaskStatusSchema, { state: 99 }, ["state ENUM"]],
    ["a state that is a bool", TaskStatusSchema, { state: true }, ["state TYPE"]],
    ["a number for a string", SendMessageRequestSchema, part({ text: 5 }), ["message.parts[0].text TYPE"]],
    ["an object for a list", SendMessageRequestSchema, { message: { ...message, parts: {} } }, ["message.parts TYPE"]],
    ["a list for metadata", SendMessageRequestSchema, { message, metadata: [] }, ["metadata TYPE"]],
    [
      "one field under both names",
      SendMessageRequestSchema,
      { message: { ...message, message_id: "m1" } },
      ["message.messageId DUPLICATE"],
    ],
    [
      "a nameless scope list",
      AgentCardSchema.field.securityRequirements.message as DescMessage,
      { schemes: { k: null } },
      ["schemes.k TYPE"],
    ],
    [
      "a skill without tags",
      AgentCardSchema,
      { name: "n", description: "d", version: "1", capabilities: {}, skills: [{ id: "s" }] },
      ["skills[0].name REQUIRED", "skills[0].description REQUIRED"],
    ],
  ])("%s is refused", (_name, schema, json, expected) => {
    expect(refused(schema, json)).toEqual(expected);
  });

  it("everything that is wrong is said at once, with what to do and where the specification says so", () => {
    const error = refusal(SendMessageRequestSchema, {
      message: { messageId: 5, role: "ROLE_ROBOT", parts: [{ text: "ok" }, {}] },
      configuration: { historyLength: "many", returnImmediately: "yes" },
    });
    expect(error.reason).toBe("INVALID_PARAMS");
    expect(rules(error.violations)).toEqual([
      "message.messageId TYPE",
      "message.role ENUM",
      "message.parts[1] ONEOF",
      "configuration.historyLength TYPE",
      "configuration.returnImmediately TYPE",
    ]);
    expect(error.violations[1]).toEqual({
      path: "message.role",
      rule: "ENUM",
      description: "must be one of ROLE_USER, ROLE_AGENT",
      section: "§5.5",
    });
  });

  it("other REQUIRED lists may be empty", () => {
    const card = { name: "n", description: "d", version: "1", capabilities: {}, skills: [] };
    expect(encodeJson(AgentCardSchema, decodeJson(AgentCardSchema, card))).toEqual({
      ...card,
      supportedInterfaces: [],
      defaultInputModes: [],
      defaultOutputModes: [],
    });
  });

  it("a hostile payload doesn't grow into a larger answer", () => {
    const parts = Array.from({ length: 5_000 }, () => ({ ["k".repeat(1_000)]: 1 }));
    const error = refusal(SendMessageRequestSchema, { message: { ...message, parts } }, { unknownFields: "reject" });
    expect(error.violations).toHaveLength(100);
    expect(Math.max(...error.violations.map(({ path }) => path.length))).toBeLessThan(120);
  });
});

describe("names and nulls", () => {
  it("takes JSON names and proto names, and writes JSON names", () => {
    const snake = {
      message: { message_id: "m1", role: "ROLE_USER", parts: [{ raw: "AQ==", media_type: "image/png" }] },
    };
    expect(again(SendMessageRequestSchema, snake)).toEqual({
      message: { messageId: "m1", role: "ROLE_USER", parts: [{ raw: "AQ==", mediaType: "image/png" }] },
    });
  });

  it("ignores unknown fields, or reports each when asked", () => {
    const json = { message: { ...message, futureField: 1, "odd name": 2 }, kind: "x" };
    expect(again(SendMessageRequestSchema, json)).toEqual({ message });
    expect(refused(SendMessageRequestSchema, json, { unknownFields: "reject" })).toEqual([
      "message.futureField UNKNOWN_FIELD",
      'message["odd name"] UNKNOWN_FIELD',
      "kind UNKNOWN_FIELD",
    ]);
  });

  it("an explicit null is an unset field, beside a set member of a oneof as well", () => {
    expect(again(SendMessageResponseSchema, { task, message: null })).toEqual({ task });
    expect(again(StreamResponseSchema, { message: null, statusUpdate: null, artifactUpdate: null, task })).toEqual({
      task,
    });
    expect(again(PartSchema, { text: "a", url: null, raw: null, metadata: null, filename: null })).toEqual({
      text: "a",
    });
    expect(again(MessageSchema, { ...message, extensions: null, metadata: null })).toEqual(message);
  });

  it("null as data is data", () => {
    const decoded = decodeJson(PartSchema, { data: null });
    expect(decoded.content).toMatchObject({ case: "data", value: { kind: { case: "nullValue" } } });
    expect(encodeJson(PartSchema, decoded)).toEqual({ data: null });
  });

  it("keeps null, false, 0 and empty texts in data and metadata", () => {
    const json = {
      data: { a: null, b: [null, { c: null }], d: "", e: 0, f: false, g: {}, h: [] },
      metadata: { a: null, b: [null] },
    };
    expect(again(PartSchema, json)).toEqual(json);
    const card = { name: "n", description: "d", version: "1", capabilities: { streaming: false } };
    expect(again(AgentCardSchema, card)).toMatchObject({ capabilities: { streaming: false } });
    expect(again(PartSchema, { text: "" })).toEqual({ text: "" });
  });

  it("keys like __proto__ are data like any other, and pollute nothing", () => {
    const text =
      '{"metadata":{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}},"data":{"__proto__":{"z":[{"__proto__":1}]}}}';
    const decoded = decodeJson(PartSchema, JSON.parse(text));
    expect(JSON.parse(JSON.stringify(encodeJson(PartSchema, decoded)))).toEqual(JSON.parse(text));
    expect(JSON.stringify(encodeJson(PartSchema, fromBinary(PartSchema, toBinary(PartSchema, decoded))))).toContain(
      '"__proto__":{"x":1}',
    );
    expect(({} as { x?: unknown }).x).toBeUndefined();
    const card = JSON.parse(
      '{"name":"n","description":"d","version":"1","capabilities":{},"securitySchemes":{"__proto__":{"mtlsSecurityScheme":{}}}}',
    );
    expect(JSON.stringify(again(AgentCardSchema, card))).toContain(
      '"securitySchemes":{"__proto__":{"mtlsSecurityScheme":{}}}',
    );
  });
});

describe("what a peer sends is read forgivingly", () => {
  const peer = { from: "peer" } as const;

  it("unknown states are kept as their number, or as unspecified", () => {
    expect(decodeJson(TaskStatusSchema, { state: 99 }, peer).state).toBe(99);
    expect(encodeJson(TaskStatusSchema, decodeJson(TaskStatusSchema, { state: 99 }, peer))).toEqual({ state: 99 });
    expect(decodeJson(TaskStatusSchema, { state: "TASK_STATE_PAUSED" }, peer).state).toBe(TaskState.UNSPECIFIED);
  });

  it("what is missing is let go, nulls are nothing", () => {
    expect(
      decodeJson(
        TaskSchema,
        { artifacts: null, history: [{ parts: [{ text: "a", data: null }, { data: null, url: "u" }, {}] }] },
        peer,
      ),
    ).toMatchObject({
      artifacts: [],
      history: [
        { parts: [{ content: { case: "text" } }, { content: { case: "url" } }, { content: { case: undefined } }] },
      ],
    });
    expect(decodeJson(AgentCardSchema, { securitySchemes: { a: null } }, peer).securitySchemes).toEqual({});
    expect(decodeJson(MessageSchema, { messageId: "a", message_id: "b" }, peer).messageId).toBe("a");
  });

  it.each([null, [], "task", 5, { id: 5 }, { artifacts: [5] }, { status: { timestamp: "yesterday" } }])(
    "%j is no Task",
    (json) => {
      const error = refusal(TaskSchema, json, peer);
      expect(error.reason).toBe("INVALID_AGENT_RESPONSE");
      expect(error.violations).toHaveLength(1);
    },
  );
});

describe("writing", () => {
  it("REQUIRED members are always there, everything else only when set", () => {
    expect(encodeJson(ListTasksResponseSchema, create(ListTasksResponseSchema))).toEqual({
      tasks: [],
      nextPageToken: "",
      pageSize: 0,
      totalSize: 0,
    });
    expect(encodeJson(MessageSchema, create(MessageSchema))).toEqual({
      messageId: "",
      role: "ROLE_UNSPECIFIED",
      parts: [],
    });
    expect(encodeJson(TaskSchema, create(TaskSchema))).toEqual({ id: "" });
    expect(encodeJson(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: "t", historyLength: 0 }))).toEqual({
      id: "t",
      historyLength: 0,
    });
  });

  it("shares no memory with what was decoded, nor with what is encoded", () => {
    const json = { ...message, metadata: { a: { b: 1 } } };
    const decoded = decodeJson(MessageSchema, json);
    json.metadata.a.b = 2;
    const written = encodeJson(MessageSchema, decoded) as typeof json;
    written.metadata.a.b = 3;
    expect(decoded.metadata).toEqual({ a: { b: 1 } });
  });
});

describe("a message from a binary wire is judged like JSON", () => {
  it.each<[string, DescMessage, object, string[]]>([
    ["an empty request", SendMessageRequestSchema, {}, ["message REQUIRED"]],
    [
      "an empty message",
      SendMessageRequestSchema,
      { message: {} },
      ["message.messageId REQUIRED", "message.role REQUIRED", "message.parts REQUIRED"],
    ],
    [
      "an unknown role",
      SendMessageRequestSchema,
      { message: { messageId: "m", role: 99, parts: [{ content: { case: "text", value: "" } }] } },
      ["message.role ENUM"],
    ],
    [
      "a part without content",
      SendMessageRequestSchema,
      { message: { messageId: "m", role: 1, parts: [{}] } },
      ["message.parts[0] ONEOF"],
    ],
    ["a NUL in an id", GetTaskRequestSchema, { id: "a\0" }, ["id NUL"]],
    [
      "a timestamp of the year 10000",
      TaskStatusSchema,
      { state: 1, timestamp: { seconds: 253_402_300_800n } },
      ["timestamp TIMESTAMP"],
    ],
    ["negative nanoseconds", TaskStatusSchema, { state: 1, timestamp: { nanos: -1 } }, ["timestamp TIMESTAMP"]],
    ["a value that is none", PartSchema, { content: { case: "data", value: {} } }, ["data REQUIRED"]],
    [
      "a number that is none",
      PartSchema,
      { content: { case: "data", value: { kind: { case: "numberValue", value: Number.NaN } } } },
      ["data RANGE"],
    ],
  ])("%s", (_name, schema, init, expected) => {
    const decoded = fromBinary(schema, toBinary(schema, create(schema, init as Record<string, unknown>)));
    expect(rules(violationsOf(schema, decoded))).toEqual(expected);
  });

  it("a good one has nothing wrong", () => {
    const request = create(SendMessageRequestSchema, {
      message: { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "" } }] },
    });
    expect(violationsOf(SendMessageRequestSchema, request)).toEqual([]);
  });
});
