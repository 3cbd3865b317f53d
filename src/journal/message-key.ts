import { hash } from "node:crypto";
import { create, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Message, MessageSchema, type Part } from "../a2a/types.js";
import type { Scope } from "./journal.js";

const KEY_BYTES = 16;

/**
 * The de-duplication key of a message: 16 bytes that are equal exactly for the same owner, `messageId` and content, whatever
 * operation, binding or version carried it. Take it of the message as it was decoded, before anything is filled in.
 */
export function messageKey(scope: Scope, message: Message): Uint8Array {
  // Lengths first, so that no two lists of names run together into the same bytes.
  const names = [scope.tenant, scope.owner, message.messageId];
  const head = Buffer.from(`${names.map((name) => Buffer.byteLength(name)).join(":")}:${names.join("")}`);
  const body = toBinary(MessageSchema, canonical(message), { writeUnknownFields: false });
  // As a text: a buffer would be of memory of its own, which the collector pays for.
  return Buffer.from(hash("sha256", Buffer.concat([head, body]), "binary").slice(0, KEY_BYTES), "binary");
}

/** The message with the members of every Struct in one order: the wire keeps whatever order the sender had. */
function canonical(message: Message): Message {
  if (message.metadata === undefined && !message.parts.some(hasStruct)) return message;
  const sorted = { ...message, parts: message.parts.map(canonicalPart) };
  if (message.metadata !== undefined) sorted.metadata = sortObject(message.metadata);
  return sorted;
}

function hasStruct({ metadata, content }: Part): boolean {
  return metadata !== undefined || content.case === "data";
}

function canonicalPart(part: Part): Part {
  const sorted = { ...part };
  if (part.metadata !== undefined) sorted.metadata = sortObject(part.metadata);
  if (part.content.case === "data") sorted.content = { case: "data", value: sortValue(part.content.value) };
  return sorted;
}

function sortObject<T extends Record<string, JsonValue>>(object: T): T {
  return mapSorted(object, sortJson) as T;
}

function sortJson(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortJson);
  return typeof value === "object" && value !== null ? sortObject(value) : value;
}

function sortValue(value: Value): Value {
  const { kind } = value;
  if (kind.case === "structValue") {
    const fields = mapSorted(kind.value.fields, sortValue);
    return create(ValueSchema, { kind: { case: "structValue", value: { ...kind.value, fields } } });
  }
  if (kind.case === "listValue") {
    return create(ValueSchema, {
      kind: { case: "listValue", value: { ...kind.value, values: kind.value.values.map(sortValue) } },
    });
  }
  return value;
}

function mapSorted<T>(object: Readonly<Record<string, T>>, each: (value: T) => T): Record<string, T> {
  const keys = Object.keys(object).sort();
  return Object.fromEntries(keys.map((key) => [key, each(object[key] as T)]));
}
