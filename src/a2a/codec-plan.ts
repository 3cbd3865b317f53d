import { type DescField, type DescMessage, type DescOneof, type JsonObject, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { type Bound, boundOf, isWithin } from "./bounds.js";
import { type Judgement, judgeText, type Kind, within } from "./codec-judgement.js";
import { enumKind, scalarKind } from "./codec-scalars.js";
import { structFieldKind } from "./codec-wkt.js";
import { holdsIds, isRequired, mayBeEmpty, needsElement } from "./required.js";
import { isObject, put, type UnknownObject } from "./unknown-json.js";

/** One field, compiled: what reading, writing and judging need to know of it. */
export interface Field {
  readonly jsonName: string;
  readonly protoName: string;
  /** Its property in the generated message; within a oneof, its case. */
  readonly localName: string;
  readonly oneof: Oneof | undefined;
  readonly kind: Kind;
  readonly required: boolean;
  /** REQUIRED, and not empty either. */
  readonly mustBeSet: boolean;
  /** Written even when it is empty. */
  readonly alwaysWritten: boolean;
  /** Told apart from an empty one when it is unset. */
  readonly hasPresence: boolean;
}

/** A oneof, compiled. */
export interface Oneof {
  readonly localName: string;
  readonly members: readonly { readonly jsonName: string; readonly protoName: string }[];
  readonly choices: string;
}

/** One message type, compiled. */
export interface Plan {
  readonly desc: DescMessage;
  readonly fields: readonly Field[];
  /** By JSON name and by proto name. */
  readonly byName: ReadonlyMap<string, Field>;
  readonly oneofs: readonly Oneof[];
}

type MessageKind = (desc: DescMessage) => Kind;

/** @param messageKind the kind of a message type; asked for each message that a field holds. */
export function compile(desc: DescMessage, messageKind: MessageKind): Plan {
  const oneofs = new Map(desc.oneofs.map((oneof) => [oneof, compileOneof(oneof)]));
  const fields = desc.fields.map((field) => compileField(field, field.oneof && oneofs.get(field.oneof), messageKind));
  const byName = new Map(
    fields.flatMap((field) => [[field.protoName, field] as const, [field.jsonName, field] as const]),
  );
  return { desc, fields, byName, oneofs: [...oneofs.values()] };
}

function compileOneof(oneof: DescOneof): Oneof {
  return {
    localName: oneof.localName,
    members: oneof.fields.map((field) => ({ jsonName: field.jsonName, protoName: field.name })),
    choices: oneof.fields.map((field) => field.jsonName).join(", "),
  };
}

function compileField(field: DescField, oneof: Oneof | undefined, messageKind: MessageKind): Field {
  const required = isRequired(field);
  const isText = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
  return {
    jsonName: field.jsonName,
    protoName: field.name,
    localName: field.localName,
    oneof,
    kind: bounded(fieldKind(field, messageKind), boundOf(field)),
    required,
    mustBeSet:
      required &&
      !mayBeEmpty(field) &&
      (isText || field.fieldKind === "enum" || field.fieldKind === "message" || needsElement(field)),
    alwaysWritten: required && field.fieldKind !== "message",
    hasPresence: field.fieldKind === "message" || field.presence === FeatureSet_FieldPresence.EXPLICIT,
  };
}

/** Bounds are a writer's duty; of a reader's requests they are judged where these are answered, with all that isn't of the contract's shape. */
function bounded(kind: Kind, bound: Bound | undefined): Kind {
  if (bound === undefined) return kind;
  const judge = (value: unknown, judgement: Judgement): void => {
    if (judgement.exact && typeof value === "number" && !isWithin(value, bound))
      judgement.fail("RANGE", bound.description, bound.section);
  };
  return {
    ...kind,
    read: (json, judgement) => {
      const value = kind.read(json, judgement);
      judge(value, judgement);
      return value;
    },
    check: (value, judgement) => {
      kind.check(value, judgement);
      judge(value, judgement);
    },
  };
}

function fieldKind(field: DescField, messageKind: MessageKind): Kind {
  switch (field.fieldKind) {
    case "scalar":
      return scalarKind(field.scalar, holdsIds(field), field.longAsString);
    case "enum":
      return enumKind(field.enum);
    case "message":
      return memberKind(field.message, messageKind);
    case "list":
      return listKind(elementKind(field, messageKind));
    case "map":
      return mapKind(elementKind(field, messageKind));
  }
}

function elementKind(field: DescField & { fieldKind: "list" | "map" }, messageKind: MessageKind): Kind {
  if (field.message !== undefined) return memberKind(field.message, messageKind);
  if (field.enum !== undefined) return enumKind(field.enum);
  return scalarKind(field.scalar, holdsIds(field), field.fieldKind === "list" && field.longAsString);
}

function memberKind(desc: DescMessage, messageKind: MessageKind): Kind {
  return desc.typeName === "google.protobuf.Struct" ? (structFieldKind as Kind) : messageKind(desc);
}

function listKind(element: Kind): Kind<readonly unknown[]> {
  return {
    read: (json, judgement) => {
      if (!Array.isArray(json)) return judgement.fail("TYPE", "must be a JSON array");
      const list: unknown[] = [];
      for (let index = 0; index < json.length; index++) {
        judgement.enter(index);
        list.push(element.read(json[index], judgement));
        judgement.leave();
      }
      return list;
    },
    write: (value) => value.map((item) => element.write(item)),
    check: (value, judgement) => {
      for (let index = 0; index < value.length; index++) {
        judgement.enter(index);
        element.check(value[index], judgement);
        judgement.leave();
      }
    },
    isZero: (value) => value.length === 0,
  };
}

/** Keys are strings in JSON and in generated messages, whatever their type is. */
function mapKind(element: Kind): Kind<UnknownObject> {
  return {
    read: (json, judgement) => {
      if (!isObject(json)) return judgement.fail("TYPE", "must be a JSON object");
      const map: Record<string, unknown> = {};
      for (const key of Object.keys(json)) {
        const item = json[key];
        if (item === undefined || (item === null && judgement.forgiving && !element.readsNull)) continue;
        within(key, judgement, () => {
          judgeText(key, judgement);
          put(map, key, element.read(item, judgement));
        });
      }
      return map;
    },
    write: (value) => {
      const object: JsonObject = {};
      for (const key of Object.keys(value)) put(object, key, element.write(value[key]));
      return object;
    },
    check: (value, judgement) => {
      for (const key of Object.keys(value)) {
        within(key, judgement, () => {
          judgeText(key, judgement);
          element.check(value[key], judgement);
        });
      }
    },
    isZero: (value) => Object.keys(value).length === 0,
  };
}
