import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type DecodeOptions, decodeJson, encodeJson, violationsOf } from "../src/a2a/codec.js";
import { A2AError, type Violation } from "../src/a2a/errors.js";
import {
  AgentCardSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
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

const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
const task = { id: "t1", status: { state: "TASK_STATE_WORKING" } };
const part = (members: object) => ({ message: { ...message, parts: [members] } });

function refusal(schema: DescMessage, json: unknown, options?: DecodeOptions): A2AError {
  try {
    decodeJson(schema, json, options);
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

const rules = (violations: readonly Violation[]) => violations.map(({ path, rule }) => `${path} ${rule}`);
const refused = (schema: DescMessage, json: unknown, options?: DecodeOptions) =>
  rules(refusal(schema, json, options).violations);
const again = (schema: DescMessage, json: unknown) => encodeJson(schema, decodeJson(schema, json));

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

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

describe("values", () => {
  it.each([
    [0, 0],
    [10, 10],
    ["10", 10],
    ["1e2", 100],
    [1.0, 1],
    [1e2, 100],
    [-0, 0],
    [2_147_483_647, 2_147_483_647],
    ["-2147483648", -2_147_483_648],
  ])("historyLength %s is %s", (given, expected) => {
    expect(decodeJson(GetTaskRequestSchema, { id: "t", historyLength: given }).historyLength).toBe(expected);
  });

  it.each([
    Number.NaN,
    1.5,
    2_147_483_648,
    -2_147_483_649,
    "abc",
    "",
    "1.5e0",
    "0x10",
    " 1",
    Number.POSITIVE_INFINITY,
    true,
    [1],
    {},
  ])("historyLength %s is refused", (given) => {
    expect(refused(GetTaskRequestSchema, { id: "t", historyLength: given })[0]).toMatch(/^historyLength (TYPE|RANGE)$/);
  });

  it.each(["true", 1, 0, "yes"])("the bool %s is refused", (given) => {
    expect(refused(ListTasksRequestSchema, { includeArtifacts: given })).toEqual(["includeArtifacts TYPE"]);
  });

  it.each([
    ["", []],
    ["AQ==", [1]],
    ["AQ", [1]],
    ["+/+/", [251, 255, 191]],
    ["-_-_", [251, 255, 191]],
    ["-_8", [251, 255]],
    ["-_8=", [251, 255]],
  ])("bytes %j are read", (given, expected) => {
    const { content } = decodeJson(PartSchema, { raw: given });
    expect(content.case === "raw" && [...content.value]).toEqual(expected);
  });

  it.each([
    "AQ=",
    "A",
    "A===",
    "AQ==\n",
    "A\nQ==",
    "AQ==AQ==",
    "data:text/plain;base64,AQ==",
    "A Q=",
    "ÄQ==",
    "=",
    "ŁQ==",
  ])("bytes %j are refused", (given) => {
    expect(refused(PartSchema, { raw: given })).toEqual(["raw BASE64"]);
  });

  it("a megabyte of bytes is written in a few milliseconds", () => {
    const raw = new Uint8Array(1_048_576).map((_, index) => index * 7);
    const big = create(PartSchema, { content: { case: "raw", value: raw } });
    const json = encodeJson(PartSchema, big) as { raw: string };
    const { content } = decodeJson(PartSchema, json);
    expect(content.case === "raw" && Buffer.compare(content.value, raw)).toBe(0);
    const before = performance.now();
    encodeJson(PartSchema, big);
    expect(performance.now() - before).toBeLessThan(50); // measured: 1
  });

  it.each([
    ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00.000Z"],
    ["2025-12-31T22:30:00.5-01:30", "2026-01-01T00:00:00.500Z"],
    ["2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123Z"],
    ["2026-01-01t00:00:00.123456789z", "2026-01-01T00:00:00.123Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
  ])("the time %s is %s", (given, expected) => {
    expect(again(TaskStatusSchema, { state: 1, timestamp: given })).toEqual({
      state: "TASK_STATE_SUBMITTED",
      timestamp: expected,
    });
  });

  it.each([
    "2026-01-01T00:00:00",
    "2026-01-01",
    "2026-01-01 00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00.1234567890Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00+0200",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    "0000-12-31T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "now",
  ])("the time %s is refused", (given) => {
    expect(refused(TaskStatusSchema, { state: 1, timestamp: given })).toEqual(["timestamp TIMESTAMP"]);
  });

  it("half a surrogate pair is refused, wherever it stands", () => {
    expect(refused(SendMessageRequestSchema, { message: { ...message, messageId: "\ud800" } })).toEqual([
      "message.messageId UTF8",
    ]);
    expect(refused(PartSchema, { text: "a\udc00" })).toEqual(["text UTF8"]);
    expect(refused(PartSchema, { data: { a: ["\ud800"], "\ud800": 1 } })).toEqual([
      "data.a[0] UTF8",
      'data["\\ud800"] UTF8',
    ]);
  });

  it("U+0000 is refused in ids and kept in text", () => {
    const json = {
      ...message,
      messageId: "a\0b",
      contextId: "c\0",
      referenceTaskIds: ["\0"],
      parts: [{ text: "a\0b" }],
    };
    expect(refused(MessageSchema, json)).toEqual(["messageId NUL", "contextId NUL", "referenceTaskIds[0] NUL"]);
    expect(again(PartSchema, { text: "a\0b" })).toEqual({ text: "a\0b" });
  });

  it("numbers in data are finite", () => {
    expect(refused(PartSchema, { data: [Number.NaN, { a: Number.POSITIVE_INFINITY }] })).toEqual([
      "data[0] RANGE",
      "data[1].a RANGE",
    ]);
    expect(refused(PartSchema, { data: { a: 1n } })).toEqual(["data.a TYPE"]);
  });

  it.each<[string, (inner: unknown) => unknown]>([
    ["lists", (inner) => [inner]],
    ["objects", (inner) => ({ a: inner })],
  ])("endless %s are refused, and what is accepted survives a binary wire", (_name, wrap) => {
    for (const levels of [41, 1_000, 100_000])
      expect(refused(PartSchema, { data: nested(levels, wrap) })[0]).toMatch(/^data.* DEPTH$/);
    const deepest = decodeJson(TaskSchema, {
      ...task,
      artifacts: [{ artifactId: "a", parts: [{ data: nested(36, wrap) }] }],
    });
    expect(fromBinary(TaskSchema, toBinary(TaskSchema, deepest))).toEqual(deepest);
    expect(violationsOf(TaskSchema, deepest)).toEqual([]);
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
