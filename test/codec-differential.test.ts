import {
  type DescEnum,
  type DescField,
  type DescMessage,
  equals,
  fromJson,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeJson, encodeJson, violationsOf } from "../src/a2a/codec.js";
import { isRequired, needsElement } from "../src/a2a/required.js";
import { AgentCardSchema, SendMessageRequestSchema, StreamResponseSchema, TaskSchema } from "../src/a2a/types.js";

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
const struct = fc.dictionary(fc.string({ unit: "grapheme" }), json, { maxKeys: 3 });
const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((value) => !value.includes("\0"));
const time = fc
  .date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true })
  .map((date) => date.toISOString());

/** Valid ProtoJSON of a message, in the spelling that protobuf-es writes. */
function messageJson(desc: DescMessage): fc.Arbitrary<Record<string, JsonValue>> {
  const plain = desc.fields.filter((field) => field.oneof === undefined);
  const members = Object.fromEntries(plain.map((field) => [field.jsonName, fieldJson(field)]));
  const requiredKeys = plain.filter(isRequired).map((field) => field.jsonName);
  const oneofs = desc.oneofs.map((oneof) =>
    fc.oneof(
      ...oneof.fields.map((field) =>
        fieldJson(field).map((value): Record<string, JsonValue> => ({ [field.jsonName]: value })),
      ),
    ),
  );
  return fc.tuple(fc.record(members, { requiredKeys }), ...oneofs).map((all) => Object.assign({}, ...all));
}

function fieldJson(field: DescField): fc.Arbitrary<JsonValue> {
  switch (field.fieldKind) {
    case "list":
      return fc.array(element(field), { minLength: needsElement(field) ? 1 : 0, maxLength: 2 });
    case "map":
      return fc.dictionary(fc.string({ unit: "grapheme" }), element(field), { maxKeys: 2 });
    default:
      return element(field);
  }
}

function element(field: DescField): fc.Arbitrary<JsonValue> {
  if (field.enum !== undefined) return enumJson(field.enum);
  if (field.message !== undefined) return wellKnown(field.message) ?? messageJson(field.message);
  switch (field.scalar) {
    case 9:
      return text;
    case 8:
      return fc.boolean();
    case 12:
      return fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64"));
    default:
      return fc.integer();
  }
}

function enumJson(desc: DescEnum): fc.Arbitrary<JsonValue> {
  const known = desc.values.filter((value) => value.number !== 0);
  return fc.constantFrom(...known.map((value) => value.name), ...known.map((value) => value.number));
}

function wellKnown(desc: DescMessage): fc.Arbitrary<JsonValue> | undefined {
  if (desc.typeName === "google.protobuf.Struct") return struct;
  if (desc.typeName === "google.protobuf.Value") return json;
  if (desc.typeName === "google.protobuf.Timestamp") return time;
  return undefined;
}

/** What protobuf-es writes, with our milliseconds and our always present REQUIRED members. */
function asWeWrite(desc: DescMessage, written: JsonValue): JsonValue {
  if (desc.typeName === "google.protobuf.Timestamp") return new Date(written as string).toISOString();
  if (wellKnown(desc) !== undefined) return written;
  const members = written as Record<string, JsonValue>;
  return Object.fromEntries(
    desc.fields.flatMap((field) => {
      const value = members[field.jsonName];
      if (value === undefined)
        return isRequired(field) && field.fieldKind !== "message" ? [[field.jsonName, emptyOf(field)]] : [];
      if (field.message === undefined) return [[field.jsonName, value]];
      const { message } = field;
      const each = (item: JsonValue) => asWeWrite(message, item);
      if (field.fieldKind === "list") return [[field.jsonName, (value as JsonValue[]).map(each)]];
      if (field.fieldKind !== "map") return [[field.jsonName, each(value)]];
      return [
        [field.jsonName, Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, each(item)]))],
      ];
    }),
  );
}

function emptyOf(field: DescField): JsonValue {
  if (field.fieldKind === "list") return [];
  if (field.fieldKind === "map") return {};
  return field.fieldKind === "scalar" && field.scalar === 9
    ? ""
    : field.fieldKind === "scalar" && field.scalar === 8
      ? false
      : 0;
}

describe.each([TaskSchema, StreamResponseSchema, AgentCardSchema, SendMessageRequestSchema] as DescMessage[])(
  "%s",
  (schema) => {
    it("is read and written as protobuf-es does it", () => {
      fc.assert(
        fc.property(messageJson(schema), (valid) => {
          const ours = decodeJson(schema, valid);
          const theirs = fromJson(schema, valid);
          expect(equals(schema, ours, theirs)).toBe(true);
          expect(violationsOf(schema, ours)).toEqual([]);
          const written = JSON.parse(JSON.stringify(encodeJson(schema, ours)));
          expect(written).toEqual(JSON.parse(JSON.stringify(asWeWrite(schema, toJson(schema, theirs)))));
          expect(equals(schema, decodeJson(schema, written), ours)).toBe(true);
        }),
        { numRuns: 300, seed: 7 },
      );
    });

    it("never throws anything but a refusal, whatever comes", () => {
      fc.assert(
        fc.property(
          fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withMap: true }),
          (anything) => {
            for (const from of ["caller", "peer"] as const) {
              try {
                decodeJson(schema, anything, { from });
              } catch (error) {
                expect(error).toHaveProperty("reason");
              }
            }
          },
        ),
        { numRuns: 300, seed: 7 },
      );
    });
  },
);
