import { hash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { encodeJson } from "../a2a/codec.js";
import { type Message, MessageSchema, type Part } from "../a2a/types.js";
import type { Scope } from "./journal.js";

const KEY_BYTES = 16;

/**
 * The de-duplication key of a message: 16 bytes that are equal exactly for the same owner, `messageId` and content, whatever
 * operation, binding or version carried it. Take it of the message as it was decoded, before anything is filled in.
 */
export function messageKey(scope: Scope, message: Message): Uint8Array {
  // Lengths first, so that no two lists of names run together into the same text.
  const names = [scope.tenant, scope.owner, message.messageId];
  const head = `${names.map((name) => name.length).join(":")}:${names.join("")}`;
  // Of a text and to a text: buffers of their own would cost the collector more than all the rest.
  return Buffer.from(hash("sha256", head + contentOf(message), "binary").slice(0, KEY_BYTES), "binary");
}

/** The message as one text. The members of a Struct come in one order: the wire keeps whatever order the sender had. */
function contentOf(message: Message): string {
  const json = encodeJson(MessageSchema, message);
  const isOrdered = message.metadata === undefined && !message.parts.some(hasStruct);
  return JSON.stringify(isOrdered ? json : sorted(json));
}

function hasStruct({ metadata, content }: Part): boolean {
  return metadata !== undefined || content.case === "data";
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  return typeof value === "object" && value !== null ? sortedObject(value) : value;
}

function sortedObject(object: JsonObject): JsonObject {
  const keys = Object.keys(object).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(object[key] ?? null)]));
}
