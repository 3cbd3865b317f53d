import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { decodeJson, encodeJson, violationsOf } from "../src/a2a/codec.js";
import {
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  MessageSchema,
  PartSchema,
  SendMessageRequestSchema,
  TaskSchema,
  TaskStatusSchema,
} from "../src/a2a/types.js";
import { again, message, nested, refused, task } from "./support/codec.js";

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
    const times = Array.from({ length: 5 }, () => {
      const before = performance.now();
      encodeJson(PartSchema, big);
      return performance.now() - before;
    });
    expect(Math.min(...times)).toBeLessThan(50); // measured: 1
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
