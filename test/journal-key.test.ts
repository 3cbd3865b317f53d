import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { MessageSchema } from "../src/a2a/types.js";
import { messageKey } from "../src/journal/message-key.js";
import { ada, bob } from "./support/journal-events.js";

function message(metadata: JsonObject, messageId = "m") {
  return create(MessageSchema, { messageId, metadata, parts: [{ content: { case: "text", value: "x" }, metadata }] });
}

function dataMessage(names: readonly string[]) {
  const number = (value: number) => ({ kind: { case: "numberValue" as const, value } });
  const fields = Object.fromEntries(names.map((name) => [name, number(name.length)]));
  const struct = { kind: { case: "structValue" as const, value: { fields } } };
  const list = { kind: { case: "listValue" as const, value: { values: [struct] } } };
  return create(MessageSchema, { messageId: "m", parts: [{ content: { case: "data", value: list } }] });
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe("a message's key", () => {
  test("doesn't depend on the order of members, at any depth", () => {
    const one = message({ a: 1, b: { c: [{ d: 1, e: 2 }], f: null } });
    const other = message({ b: { f: null, c: [{ e: 2, d: 1 }] }, a: 1 });
    expect(hex(messageKey(ada, one))).toBe(hex(messageKey(ada, other)));
    expect(hex(messageKey(ada, dataMessage(["a", "bb", "ccc"])))).toBe(
      hex(messageKey(ada, dataMessage(["ccc", "a", "bb"]))),
    );
  });

  test("differs with owner, id and content", () => {
    const keys = [
      messageKey(ada, message({ a: 1 })),
      messageKey(bob, message({ a: 1 })),
      messageKey({ tenant: "ad", owner: "a" }, message({ a: 1 })),
      messageKey({ tenant: "ada", owner: "" }, message({ a: 1 })),
      messageKey(ada, message({ a: 1 }, "n")),
      messageKey(ada, message({ a: 2 })),
      messageKey(ada, message({ a: "1" })),
      messageKey(ada, message({ ["__proto__"]: 1 })),
      messageKey(ada, dataMessage(["a"])),
      messageKey(ada, dataMessage(["b"])),
    ].map(hex);
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(key).toHaveLength(32);
  });

  test("leaves out what this release doesn't know, as another wire would", () => {
    const known = message({ a: 1 });
    const newer = fromBinary(MessageSchema, new Uint8Array([...toBinary(MessageSchema, known), 0xc0, 0x3e, 1]));
    expect(newer.$unknown).toHaveLength(1);
    expect(hex(messageKey(ada, newer))).toBe(hex(messageKey(ada, known)));
  });

  test("leaves the message as it was", () => {
    const given = message({ b: 1, a: 2 });
    messageKey(ada, given);
    expect(Object.keys(given.metadata ?? {})).toEqual(["b", "a"]);
  });
});
