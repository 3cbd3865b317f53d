import { create, type DescMessage, type JsonObject } from "@bufbuild/protobuf";
import { BROKEN, type Judgement, type Kind, within } from "./codec-judgement.js";
import { compile, type Field, type Plan } from "./codec-plan.js";
import { listValueKind, structKind, timestampKind, valueKind } from "./codec-wkt.js";
import { keptEmpty } from "./presence.js";
import { isObject, type UnknownObject } from "./unknown-json.js";

/** A generated message, seen from outside its type. */
type Open = Record<string, unknown>;
type Choice = { readonly case: string | undefined; readonly value?: unknown };

const kinds = new WeakMap<DescMessage, Kind>();

/** The kind of a message type, compiled at its first use. */
export function messageKind(desc: DescMessage): Kind {
  let kind = kinds.get(desc);
  if (kind === undefined) {
    kind = wellKnownKind(desc) ?? planKind(desc);
    kinds.set(desc, kind);
  }
  return kind;
}

function wellKnownKind(desc: DescMessage): Kind | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return timestampKind;
    case "google.protobuf.Value":
      return valueKind;
    case "google.protobuf.Struct":
      return structKind;
    case "google.protobuf.ListValue":
      return listValueKind;
    case "google.protobuf.Empty":
      return undefined;
    default:
      if (desc.typeName.startsWith("google.protobuf."))
        throw new TypeError(`${desc.typeName} has a JSON form of its own, which isn't known here`);
      return undefined;
  }
}

function planKind(desc: DescMessage): Kind {
  // Compiled lazily: a message type may contain itself.
  let compiled: Plan | undefined;
  const plan = () => {
    compiled ??= compile(desc, messageKind);
    return compiled;
  };
  return {
    read: (json, judgement) => {
      if (!isObject(json)) return judgement.fail("TYPE", "must be a JSON object");
      return judgement.isTooDeep() ? BROKEN : readMessage(plan(), json, judgement);
    },
    write: (value) => writeMessage(plan(), value as Open),
    check: (value, judgement) => {
      if (!judgement.isTooDeep()) checkMessage(plan(), value as Open, judgement);
    },
    isZero: () => false,
  };
}

function readMessage(plan: Plan, json: UnknownObject, judgement: Judgement): Open {
  const message: Open = create(plan.desc) as unknown as Open;
  for (const key of Object.keys(json)) {
    const field = plan.byName.get(key);
    const value = json[key];
    if (field === undefined) {
      if (judgement.rejectUnknown)
        within(key, judgement, () =>
          judgement.fail("UNKNOWN_FIELD", "is not a field of this object: remove it, or mend its spelling", "§5.7"),
        );
    } else if (key !== field.jsonName && Object.hasOwn(json, field.jsonName)) {
      if (!judgement.forgiving)
        within(field.jsonName, judgement, () =>
          judgement.fail("DUPLICATE", `is given twice, also as ${field.protoName}: give it once`, "§5.5"),
        );
    } else if (value !== undefined && (value !== null || isNullMeant(field, json, judgement))) {
      if (key !== field.jsonName && judgement.exact)
        within(key, judgement, () => judgement.fail("NAME", `must be written ${field.jsonName}`, "§5.5"));
      readField(field, value, message, judgement);
    }
  }
  if (judgement.exact) judgeMembers(plan, json, judgement);
  judgePresence(plan, message, judgement);
  return message;
}

/** Null is "unset", except where it is a value. A peer that sends every member of a oneof doesn't mean its nulls. */
function isNullMeant(field: Field, json: UnknownObject, judgement: Judgement): boolean {
  if (field.kind.readsNull === undefined) return false;
  if (!judgement.forgiving || field.oneof === undefined) return true;
  return !field.oneof.members.some(({ jsonName, protoName }) => (json[jsonName] ?? json[protoName] ?? null) !== null);
}

function readField(field: Field, value: unknown, message: Open, judgement: Judgement): void {
  judgement.enter(field.jsonName);
  const read = field.kind.read(value, judgement);
  judgement.leave();
  if (field.oneof === undefined) {
    message[field.localName] = read;
    return;
  }
  const { localName, choices } = field.oneof;
  if ((message[localName] as Choice).case !== undefined)
    judgement.fail("ONEOF", `must have only one of ${choices}`, "§4.1.6");
  message[localName] = { case: field.localName, value: read };
}

function checkMessage(plan: Plan, message: Open, judgement: Judgement): void {
  for (const field of plan.fields) {
    const value = valueIn(field, message);
    if (value === undefined) continue;
    judgement.enter(field.jsonName);
    field.kind.check(value, judgement);
    judgement.leave();
  }
  judgePresence(plan, message, judgement);
}

/** What must be there, alike for both wires: JSON's `""` and a binary wire's nothing are the same message. */
function judgePresence(plan: Plan, message: Open, judgement: Judgement): void {
  if (judgement.forgiving) return;
  for (const field of plan.fields) {
    if (!field.mustBeSet) continue;
    const value = message[field.localName];
    if (value === undefined || field.kind.isZero(value)) {
      within(field.jsonName, judgement, () =>
        judgement.fail("REQUIRED", "is required and must not be empty: set it", "§5.7"),
      );
    }
  }
  for (const { localName, choices } of plan.oneofs) {
    if ((message[localName] as Choice).case === undefined)
      judgement.fail("ONEOF", `must have one of ${choices}`, "§4.1.6");
  }
}

/** What must be written even when it is empty. What must not be empty either is judged with the rest. */
function judgeMembers(plan: Plan, json: UnknownObject, judgement: Judgement): void {
  for (const field of plan.fields) {
    if (!field.required || field.mustBeSet || (json[field.jsonName] ?? json[field.protoName] ?? null) !== null)
      continue;
    within(field.jsonName, judgement, () =>
      judgement.fail("REQUIRED", "is required: it must be there, even when it is empty", "§5.7"),
    );
  }
}

function writeMessage(plan: Plan, message: Open): JsonObject {
  const json: JsonObject = {};
  const kept = keptEmpty(message);
  for (const field of plan.fields) {
    const value = valueIn(field, message);
    if (value === undefined) continue;
    const isWritten =
      field.hasPresence ||
      field.alwaysWritten ||
      field.oneof !== undefined ||
      !field.kind.isZero(value) ||
      kept?.has(field.localName);
    if (isWritten) json[field.jsonName] = field.kind.write(value);
  }
  return json;
}

function valueIn(field: Field, message: Open): unknown {
  if (field.oneof === undefined) return message[field.localName];
  const choice = message[field.oneof.localName] as Choice;
  return choice.case === field.localName ? choice.value : undefined;
}
