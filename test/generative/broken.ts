import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { holdsIds, isRequired, mayBeEmpty, needsElement } from "../../src/a2a/required.js";
import { createGenerator, nested } from "./arbitrary.js";

/** ProtoJSON with one fault, and what a judge has to say of it. */
export interface Broken {
  readonly json: JsonValue;
  /** JSON path of the fault. */
  readonly path: string;
  readonly rule: string;
  /** What the fault is called in a report. */
  readonly what: string;
}

/** A fault of one value: what to put in its place, and the rule that it breaks. */
interface Fault {
  readonly what: string;
  readonly value: JsonValue | undefined;
  readonly rule: string;
  /** Below the value itself. */
  readonly below?: string;
}

const valid = createGenerator();
/** Deeper than anything may nest, wherever it is put. */
const TOO_DEEP = 60;

/** Valid JSON of a message in which exactly one thing is wrong, at any depth. There is something in every message: it may be no object. */
export function brokenJson(desc: DescMessage): Arbitrary<Broken> {
  return fc.oneof(...desc.fields.flatMap((field) => faultsIn(desc, field)), ...oneofFaults(desc), ...notAnObject);
}

/** The JSON with anything at all, JSON or not, in place of one value at any depth: a member, an element, or the whole. */
export function withAnything(json: Arbitrary<JsonObject>): Arbitrary<unknown> {
  const anything = fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withMap: true });
  const value = fc.oneof(
    anything,
    fc.constantFrom(undefined, null, Number.NaN, -0, Symbol("s"), () => 0),
  );
  return fc.tuple(json, fc.nat(), value).map(([whole, nth, other]) => {
    const places = placesIn(whole);
    return replacedAt(whole, places[nth % places.length] ?? [], other);
  });
}

/** Where there is a value, each as the keys that lead to it. The whole first. */
function placesIn(json: JsonValue): (readonly string[])[] {
  if (typeof json !== "object" || json === null) return [[]];
  const within = Object.entries(json).flatMap(([key, value]) => placesIn(value).map((place) => [key, ...place]));
  return [[], ...within];
}

function replacedAt(json: JsonValue, [key, ...rest]: readonly string[], other: unknown): unknown {
  if (key === undefined) return other;
  const at = (name: string, value: JsonValue) => (name === key ? replacedAt(value, rest, other) : value);
  if (Array.isArray(json)) return json.map((value, index) => at(String(index), value));
  return Object.fromEntries(Object.entries(json as JsonObject).map(([name, value]) => [name, at(name, value)]));
}

const notAnObject: readonly Arbitrary<Broken>[] = [[], "text", 7, true].map((json) =>
  fc.constant({ json, path: "", rule: "TYPE", what: "something else than an object" }),
);

/** All faults that a field can have, each within an otherwise valid message. */
function faultsIn(desc: DescMessage, field: DescField): Arbitrary<Broken>[] {
  const put = (value: JsonValue | undefined) => valid(desc).map((json) => withMember(json, field, value));
  const own = [...fieldFaults(field), ...presenceFaults(field)].map(({ what, value, rule, below = "" }) =>
    put(value).map((json): Broken => ({ json, path: `${field.jsonName}${below}`, rule, what })),
  );
  const within = withinFaults(field)?.chain(({ value, below, rule, what }) =>
    put(value).map((json): Broken => ({ json, path: `${field.jsonName}${below}`, rule, what })),
  );
  return within === undefined ? own : [...own, within];
}

/** A fault of the field's own value, or of an element of it. */
function fieldFaults(field: DescField): Fault[] {
  const faults = elementFaults(field);
  switch (field.fieldKind) {
    case "list":
      return [
        { what: "an object for a list", value: {}, rule: "TYPE" },
        ...faults.map((fault) => ({ ...fault, value: [fault.value ?? null], below: `[0]${fault.below ?? ""}` })),
      ];
    case "map":
      return [
        { what: "a list for a map", value: [], rule: "TYPE" },
        ...faults.map((fault) => ({ ...fault, value: { k: fault.value ?? null }, below: `.k${fault.below ?? ""}` })),
      ];
    default:
      return faults;
  }
}

function elementFaults(field: DescField): Fault[] {
  if (field.enum !== undefined) {
    return [
      { what: "an enum's name that isn't there", value: "NO_SUCH_NAME", rule: "ENUM" },
      { what: "an enum's number that isn't there", value: 99, rule: "ENUM" },
      { what: "a number that is none of an enum", value: 1.5, rule: "ENUM" },
      { what: "a boolean for an enum", value: true, rule: "TYPE" },
    ];
  }
  if (field.message !== undefined) return messageFaults(field.message);
  return scalarFaults(field);
}

function messageFaults({ typeName }: DescMessage): Fault[] {
  switch (typeName) {
    case "google.protobuf.Timestamp":
      return ["2026-01-01T00:00:00", "2026-02-30T00:00:00Z", "now", "10000-01-01T00:00:00Z"]
        .map((value): Fault => ({ what: "a time that is none", value, rule: "TIMESTAMP" }))
        .concat({ what: "a number for a time", value: 0, rule: "TYPE" });
    case "google.protobuf.Value":
      return [{ what: "half a surrogate pair in data", value: ["\ud83d"], rule: "UTF8", below: "[0]" }];
    case "google.protobuf.Struct":
      return [
        { what: "a list for a Struct", value: [], rule: "TYPE" },
        { what: "half a surrogate pair in a Struct", value: { a: "\udc00x" }, rule: "UTF8", below: ".a" },
        { what: "half a surrogate pair as a key", value: { "\ud83d": 1 }, rule: "UTF8", below: '["\\ud83d"]' },
      ];
    default:
      return [{ what: "a text for a message", value: "x", rule: "TYPE" }];
  }
}

function scalarFaults(field: DescField): Fault[] {
  switch (field.scalar) {
    case ScalarType.STRING:
      return [
        { what: "a number for a text", value: 7, rule: "TYPE" },
        { what: "half a surrogate pair", value: "a\ud800b", rule: "UTF8" },
        ...(holdsIds(field) ? [{ what: "U+0000 in an id", value: "a\0b", rule: "NUL" }] : []),
      ];
    case ScalarType.BOOL:
      return [{ what: "a text for a boolean", value: "true", rule: "TYPE" }];
    case ScalarType.INT32:
      return [
        { what: "a text for a number", value: "x", rule: "TYPE" },
        { what: "half a number", value: 0.5, rule: "RANGE" },
        { what: "too large a number", value: 2 ** 31, rule: "RANGE" },
        { what: "too large a number as text", value: "-2147483649", rule: "RANGE" },
      ];
    case ScalarType.BYTES:
      return ["*", "YQ=", "YQ===", "Y", "Y Q="]
        .map((value): Fault => ({ what: "what is no base64", value, rule: "BASE64" }))
        .concat({ what: "a list for bytes", value: [1], rule: "TYPE" });
    default:
      throw new TypeError(`${field} is of a type that isn't broken yet`);
  }
}

/** What has to be there, and isn't (§5.7). */
function presenceFaults(field: DescField): Fault[] {
  if (!isRequired(field)) return [];
  const absent: Fault = { what: "a REQUIRED member left out", value: undefined, rule: "REQUIRED" };
  if (needsElement(field)) return [absent, { what: "an empty REQUIRED list", value: [], rule: "REQUIRED" }];
  if (field.fieldKind === "message") return [absent];
  if (field.fieldKind === "enum") return [absent, { what: "a REQUIRED enum of 0", value: 0, rule: "REQUIRED" }];
  if (field.fieldKind !== "scalar" || field.scalar !== ScalarType.STRING || mayBeEmpty(field)) return [];
  return [absent, { what: "an empty REQUIRED text", value: "", rule: "REQUIRED" }];
}

/** A fault further within. */
function withinFaults(field: DescField): Arbitrary<Fault & { below: string }> | undefined {
  const { message } = field;
  if (message === undefined) return undefined;
  if (/\.(Struct|Value)$/.test(message.typeName)) return tooDeep(message);
  if (message.typeName.startsWith("google.protobuf.")) return undefined;
  const [wrap, step] = wrapperOf(field);
  return brokenJson(message).map(({ json, path, ...fault }) => ({
    ...fault,
    value: wrap(json),
    below: `${step}${path === "" || path.startsWith("[") ? path : `.${path}`}`,
  }));
}

function wrapperOf({ fieldKind }: DescField): [wrap: (json: JsonValue) => JsonValue, step: string] {
  if (fieldKind === "list") return [(json) => [json], "[0]"];
  if (fieldKind === "map") return [(json) => ({ k: json }), ".k"];
  return [(json) => json, ""];
}

/** Its path is only known to begin here. */
function tooDeep(message: DescMessage): Arbitrary<Fault & { below: string }> {
  const lists = message.typeName.endsWith("Value") ? [true, false] : [false];
  return fc
    .constantFrom(...lists)
    .map((list) => ({ what: "too deep a nesting", value: nested(TOO_DEEP, list), rule: "DEPTH", below: "…" }));
}

/** Two members of a oneof, or none (§4.1.6). */
function oneofFaults(desc: DescMessage): Arbitrary<Broken>[] {
  return desc.oneofs.flatMap(({ fields }) => {
    const named = (json: JsonObject) => fields.filter(({ jsonName }) => jsonName in json);
    const none = valid(desc).map((json): Broken => {
      const rest = Object.entries(json).filter(([name]) => !fields.some(({ jsonName }) => jsonName === name));
      return { json: Object.fromEntries(rest), path: "", rule: "ONEOF", what: "no member of a oneof" };
    });
    const two = fc
      .tuple(valid(desc), valid(desc))
      .filter(([one, other]) => named(one)[0] !== named(other)[0])
      .map(([one, other]): Broken => ({ json: { ...other, ...one }, path: "", rule: "ONEOF", what: "two of a oneof" }));
    return [none, two];
  });
}

/** The object with another value of a member; alone, where it is one of a oneof. */
function withMember(json: JsonObject, field: DescField, value: JsonValue | undefined): JsonObject {
  const gone = new Set([field.jsonName, ...(field.oneof?.fields ?? []).map(({ jsonName }) => jsonName)]);
  const rest = Object.entries(json).filter(([name]) => !gone.has(name));
  return Object.fromEntries(value === undefined ? rest : [...rest, [field.jsonName, value]]);
}
