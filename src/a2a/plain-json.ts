import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isWellFormed, put } from "./unknown-json.js";

/** Deepest nesting of what is said or recorded: what leaves with it around it still stays below what a peer reads. */
const MAX_LEVELS = 36;

/**
 * A copy of a value that JSON carries there and back unchanged.
 * @param path what the value is called in the error: `data`.
 * @throws TypeError with the path of what JSON would lose or change: a Date, a Map, an instance of a class, something with `toJSON`,
 * `undefined`, NaN, a BigInt, a function, half of a surrogate pair, a cycle, or more than 36 levels of nesting.
 */
export function plainJson(value: unknown, path: string): JsonValue {
  return copy(value, path, []);
}

function copy(value: unknown, path: string, parents: readonly unknown[]): JsonValue {
  switch (typeof value) {
    case "string":
      if (!isWellFormed(value)) throw refusal(path, "a string with half of a surrogate pair");
      return value;
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw refusal(path, String(value));
      return value;
    case "object":
      return value === null ? null : copyObject(value, path, parents);
    default:
      throw refusal(path, value === undefined ? "undefined" : `a ${typeof value}`);
  }
}

function copyObject(value: object, path: string, parents: readonly unknown[]): JsonValue {
  if (parents.includes(value)) throw refusal(path, "a cycle");
  if (parents.length >= MAX_LEVELS) throw refusal(path, `more than ${MAX_LEVELS} levels of nesting`);
  const inner = [...parents, value];
  if (Array.isArray(value)) return Array.from(value, (item, index) => copy(item, `${path}[${index}]`, inner));
  if (!isPlain(value)) throw refusal(path, `a ${value.constructor?.name || "class instance"}`);
  if ("toJSON" in value && typeof value.toJSON === "function") throw refusal(path, "an object with toJSON");
  const object: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const name = /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
    if (!isWellFormed(key)) throw refusal(name, "a key with half of a surrogate pair");
    put(object, key, copy(member, name, inner));
  }
  return object;
}

/** An object literal, also one of another realm (a worker, a test's sandbox). */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf"))
  );
}

function refusal(path: string, what: string): TypeError {
  return new TypeError(`${path} is ${what}, which JSON can't carry back`);
}
