import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  type ListValue,
  ListValueSchema,
  NullValue,
  type Struct,
  StructSchema,
  type Timestamp,
  TimestampSchema,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { BROKEN, type Judgement, judgeText, type Kind } from "./codec-judgement.js";
import { isObject, put } from "./unknown-json.js";

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;

/** `google.protobuf.Timestamp` (§5.6.1): read with any zone, written in UTC with milliseconds. */
export const timestampKind: Kind<Timestamp> = {
  read: (json, judgement) => {
    if (typeof json !== "string")
      return judgement.fail("TYPE", "must be a string like 2026-01-31T12:00:00.000Z", "§5.6.1");
    if (judgement.exact && !json.endsWith("Z"))
      return judgement.fail("TIMESTAMP", "must be written in UTC, like 2026-01-31T12:00:00.000Z", "§5.6.1");
    return (
      parseTimestamp(json) ??
      judgement.fail("TIMESTAMP", "must be a date and time with a zone, like 2026-01-31T12:00:00.000Z", "§5.6.1")
    );
  },
  write: writeTimestamp,
  check: (value, judgement) => {
    const isInRange = value.seconds >= MIN_SECONDS && value.seconds <= MAX_SECONDS;
    if (!isInRange || value.nanos < 0 || value.nanos > 999_999_999) {
      judgement.fail("TIMESTAMP", "must lie in the years 1 to 9999, with 0 to 999999999 nanoseconds", "§5.6.1");
    }
  },
  isZero: () => false,
};

/** `undefined` for what RFC 3339 doesn't allow, has no zone, or lies outside the years 1 to 9999. */
function parseTimestamp(text: string): Timestamp | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, zoneHour = "0", zoneMinute = "0"] = match;
  const local = new Date(0);
  local.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  local.setUTCHours(Number(hour), Number(minute), Number(second));
  // A date that isn't one (February 30, hour 24) has moved on to another.
  if (local.toISOString().slice(0, 19) !== `${year}-${month}-${day}T${hour}:${minute}:${second}`) return undefined;
  if (Number(zoneHour) > 23 || Number(zoneMinute) > 59) return undefined;
  const offset = (Number(zoneHour) * 3_600 + Number(zoneMinute) * 60) * (sign === "-" ? -1 : 1);
  const seconds = local.getTime() / 1_000 - offset;
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) return undefined;
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, "0")) });
}

/** @throws RangeError outside of what a Date can hold; a peer's binary message may say anything. */
export function writeTimestamp({ seconds, nanos }: Timestamp): string {
  return new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000)).toISOString();
}

/** `google.protobuf.Value`: any JSON, null included. */
export const valueKind: Kind<Value> = {
  read: (json, judgement) => {
    const plain = readPlain(json, judgement);
    return plain === BROKEN ? BROKEN : toValue(plain);
  },
  write: fromValue,
  check: checkValue,
  isZero: () => false,
  readsNull: true,
};

/** `google.protobuf.Struct` as a field: protobuf-es keeps it as a plain JSON object. */
export const structFieldKind: Kind<JsonObject> = {
  read: (json, judgement) =>
    isObject(json)
      ? (readPlain(json, judgement) as JsonObject | typeof BROKEN)
      : judgement.fail("TYPE", "must be a JSON object"),
  write: copy as (value: JsonObject) => JsonObject,
  check: (value, judgement) => void readPlain(value, judgement),
  isZero: () => false,
};

/** `google.protobuf.Struct` by itself. */
export const structKind: Kind<Struct> = {
  read: (json, judgement) => {
    const plain = structFieldKind.read(json, judgement);
    return plain === BROKEN ? BROKEN : toStruct(plain);
  },
  write: fromStruct,
  check: checkStruct,
  isZero: () => false,
};

/** `google.protobuf.ListValue`. */
export const listValueKind: Kind<ListValue> = {
  read: (json, judgement) => {
    if (!Array.isArray(json)) return judgement.fail("TYPE", "must be a JSON array");
    const plain = readPlain(json, judgement) as JsonValue[] | typeof BROKEN;
    return plain === BROKEN ? BROKEN : toListValue(plain);
  },
  write: (value) => value.values.map(fromValue),
  check: (value, judgement) => checkList(value.values, judgement),
  isZero: () => false,
};

/** A copy of any JSON, judged. A member that is `undefined` doesn't exist. */
function readPlain(json: unknown, judgement: Judgement): JsonValue | typeof BROKEN {
  switch (typeof json) {
    case "string":
      return judgeText(json, judgement);
    case "boolean":
      return json;
    case "number":
      return Number.isFinite(json) ? json : judgement.fail("RANGE", "must be a finite number");
    case "object":
      if (json === null) return null;
      if (judgement.isTooDeep()) return BROKEN;
      return Array.isArray(json)
        ? readPlainList(json, judgement)
        : readPlainObject(json as Record<string, unknown>, judgement);
    default:
      return judgement.fail("TYPE", "must be JSON");
  }
}

function readPlainList(json: readonly unknown[], judgement: Judgement): JsonValue[] {
  return Array.from(json, (element, index) => {
    judgement.enter(index);
    const read = readPlain(element, judgement);
    judgement.leave();
    return read as JsonValue; // where it is BROKEN, all of this is thrown away
  });
}

function readPlainObject(json: Readonly<Record<string, unknown>>, judgement: Judgement): JsonObject {
  const object: JsonObject = {};
  for (const key of Object.keys(json)) {
    const member = json[key];
    if (member === undefined) continue;
    judgement.enter(key);
    judgeText(key, judgement);
    put(object, key, readPlain(member, judgement) as JsonValue);
    judgement.leave();
  }
  return object;
}

/** A message and its JSON must not share memory: whoever changes one would change the other. */
function copy(json: JsonValue): JsonValue {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(copy);
  const object: JsonObject = {};
  for (const key of Object.keys(json)) {
    const member = json[key];
    if (member !== undefined) put(object, key, copy(member));
  }
  return object;
}

/** The Value of plain JSON. */
export function toValue(json: JsonValue): Value {
  const value = create(ValueSchema);
  value.kind = toKind(json); // given to `create` it would be walked once more
  return value;
}

function toKind(json: JsonValue): Value["kind"] {
  if (json === null) return { case: "nullValue", value: NullValue.NULL_VALUE };
  if (typeof json === "string") return { case: "stringValue", value: json };
  if (typeof json === "number") return { case: "numberValue", value: json };
  if (typeof json === "boolean") return { case: "boolValue", value: json };
  if (Array.isArray(json)) return { case: "listValue", value: toListValue(json) };
  return { case: "structValue", value: toStruct(json) };
}

function toListValue(json: readonly JsonValue[]): ListValue {
  const list = create(ListValueSchema);
  for (const item of json) list.values.push(toValue(item));
  return list;
}

function toStruct(json: JsonObject): Struct {
  const struct = create(StructSchema);
  for (const key of Object.keys(json)) put(struct.fields, key, toValue(json[key] ?? null));
  return struct;
}

/** The plain JSON of a Value; one that says nothing is null. */
export function fromValue({ kind }: Value): JsonValue {
  switch (kind.case) {
    case "structValue":
      return fromStruct(kind.value);
    case "listValue":
      return kind.value.values.map(fromValue);
    case "stringValue":
    case "numberValue":
    case "boolValue":
      return kind.value;
    default:
      return null;
  }
}

function fromStruct({ fields }: Struct): JsonObject {
  const object: JsonObject = {};
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value !== undefined) put(object, key, fromValue(value));
  }
  return object;
}

function checkValue({ kind }: Value, judgement: Judgement): void {
  switch (kind.case) {
    case undefined:
      judgement.fail("REQUIRED", "holds no value: set one, null if that is meant");
      return;
    case "stringValue":
    case "numberValue":
      readPlain(kind.value, judgement);
      return;
    case "listValue":
      checkList(kind.value.values, judgement);
      return;
    case "structValue":
      checkStruct(kind.value, judgement);
  }
}

function checkList(values: readonly Value[], judgement: Judgement): void {
  if (judgement.isTooDeep()) return;
  values.forEach((value, index) => {
    judgement.enter(index);
    checkValue(value, judgement);
    judgement.leave();
  });
}

function checkStruct({ fields }: Struct, judgement: Judgement): void {
  if (judgement.isTooDeep()) return;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    judgement.enter(key);
    judgeText(key, judgement);
    if (value !== undefined) checkValue(value, judgement);
    judgement.leave();
  }
}
