import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { holdsIds, isRequired, needsElement } from "../../src/a2a/required.js";
import { A2AService } from "../../src/a2a/types.js";

/** Every message of the contract, from its descriptor. */
export const contractMessages: readonly DescMessage[] = A2AService.file.messages;

/** What is generated. */
export interface GeneratorOptions {
  /** Only what the contract allows (default). `false`: also what every wire can carry, and the contract refuses. */
  readonly valid?: boolean;
  /** Only the spelling that protobuf-es writes (default); `"every"`: all that ProtoJSON lets a writer choose. */
  readonly spelling?: "canonical" | "every";
  /** Values of a field, where they must fit something else; `undefined` leaves it to its type. Absent where the value is `undefined`. */
  readonly field?: (field: DescField) => Arbitrary<JsonValue | undefined> | undefined;
}

const graphemes = fc.string({ unit: "grapheme", maxLength: 12 });
/** Every code point but surrogates, U+0000 and noncharacters included. */
const codePoints = fc.string({ unit: "binary", maxLength: 12 });
const odd = fc.constantFrom(
  "\ufeff",
  "\u2028\u2029",
  "\u202eabc",
  "e\u0301\u0323",
  "👩‍👩‍👧‍👦",
  "\ud83d\ude00",
  "\uffff",
  "\u{10ffff}",
  "\u007f\u0085",
  'a"b\\c/',
  "\r\n\t\b",
  "a".repeat(20_000),
);
const someText = fc.oneof({ weight: 3, arbitrary: graphemes }, { weight: 3, arbitrary: codePoints }, odd);

/** Any text that UTF-8 can carry. */
export const text: Arbitrary<string> = fc.oneof({ weight: 9, arbitrary: someText }, fc.constant(""));
/** Any id that every database keeps: no U+0000. */
export const id: Arbitrary<string> = someText
  .map((value) => value.replaceAll("\0", ""))
  .filter((value) => value !== "");
/** Names that are something else in JavaScript, in a path, or nothing at all. */
const key: Arbitrary<string> = fc.oneof(
  graphemes,
  codePoints,
  fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty", "", "0", "-1", "a.b", "a[0]", "@type"),
);
const number: Arbitrary<number> = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0), // JSON.stringify makes 0 of -0
  fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53 + 2, 1e21, 1e-7, 0.1 + 0.2),
);
const int32 = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.constantFrom(-(2 ** 31), 2 ** 31 - 1, 0));
const bytes: Arbitrary<Buffer> = fc
  .oneof({ weight: 9, arbitrary: fc.uint8Array({ maxLength: 40 }) }, fc.constant(new Uint8Array(30_000).fill(0xfb)))
  .map((value) => Buffer.from(value));

/** An object with these members, whatever they are called. */
const objectOf = <T extends JsonValue>(value: Arbitrary<T>, maxLength: number): Arbitrary<JsonObject> =>
  fc.array(fc.tuple(key, value), { maxLength }).map((entries) => Object.fromEntries(entries) as JsonObject);

/** Any JSON that a Value holds. */
export const json: Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue; leaf: JsonValue }>((tie) => ({
  leaf: fc.oneof(someText, number, fc.boolean(), fc.constant(null), fc.constant("")),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: tie("leaf") },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
    { weight: 1, arbitrary: objectOf(tie("value"), 3) },
  ),
})).value;

/** JSON that nests so many levels around a leaf. */
export function nested(levels: number, list: boolean): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < levels; level++) value = list ? [value] : { a: value };
  return value;
}

/** Deep, but not too deep for what lies around it in any message of the contract. */
const deep = fc.tuple(fc.integer({ min: 5, max: 20 }), fc.boolean()).map(([levels, list]) => nested(levels, list));
const anyJson = fc.oneof({ weight: 9, arbitrary: json }, deep);
const struct = fc.oneof({ weight: 9, arbitrary: objectOf(json, 3) }, objectOf(deep, 1));

/** Valid ProtoJSON of the messages of a contract, made from their descriptors alone. Ask once for each type: what is made is kept. */
export function createGenerator(options: GeneratorOptions = {}): (desc: DescMessage) => Arbitrary<JsonObject> {
  const { valid = true, spelling = "canonical", field: special = () => undefined } = options;
  const known = new Map<DescMessage, Arbitrary<JsonObject>>();
  const spelled = <T>(canonical: Arbitrary<T>, other: Arbitrary<T>) =>
    spelling === "canonical" ? canonical : fc.oneof(canonical, other);

  function messageJson(desc: DescMessage): Arbitrary<JsonObject> {
    const made = known.get(desc) ?? compose(desc);
    known.set(desc, made);
    return made;
  }

  function compose(desc: DescMessage): Arbitrary<JsonObject> {
    const members = desc.fields.filter(({ oneof }) => oneof === undefined).map(optionalMember);
    const choices = desc.oneofs.map(({ fields }) => {
      const one = fc.oneof(...fields.map(member));
      return valid ? one : fc.option(one, { nil: undefined, freq: 8 });
    });
    return fc
      .tuple(...members, ...choices)
      .map((all) => Object.fromEntries(all.filter((one) => one !== undefined)) as JsonObject);
  }

  function optionalMember(field: DescField): Arbitrary<readonly [string, JsonValue] | undefined> {
    const mustBe =
      isRequired(field) && field.fieldKind !== "map" && (field.fieldKind !== "list" || needsElement(field));
    if (mustBe && valid) return member(field);
    return fc.option(member(field), { nil: undefined, freq: mustBe ? 8 : 2 });
  }

  function member(field: DescField): Arbitrary<readonly [string, JsonValue] | undefined> {
    const name = spelled(fc.constant(field.jsonName), fc.constant(field.name));
    const value = special(field) ?? nullable(field, fieldJson(field));
    return fc.tuple(name, value).map(([spelt, given]) => (given === undefined ? undefined : [spelt, given]));
  }

  /** An explicit null is an unset field. In a oneof it would be one member more, which protobuf-es counts. */
  function nullable(field: DescField, value: Arbitrary<JsonValue>): Arbitrary<JsonValue> {
    if (spelling === "canonical" || field.oneof !== undefined || isRequired(field)) return value;
    return fc.option(value, { freq: 10 });
  }

  function fieldJson(field: DescField): Arbitrary<JsonValue> {
    switch (field.fieldKind) {
      case "list":
        return fc.array(element(field), { minLength: valid && needsElement(field) ? 1 : 0, maxLength: 2 });
      case "map":
        return objectOf(element(field), 2);
      default:
        return element(field);
    }
  }

  function element(field: DescField): Arbitrary<JsonValue> {
    if (field.message !== undefined) return wellKnown(field.message) ?? messageJson(field.message);
    if (field.enum !== undefined) {
      const values = field.enum.values.filter(({ number: one }) => !valid || one !== 0 || !isRequired(field));
      const names = fc.constantFrom(...values.map(({ name }) => name));
      const numbers = fc.constantFrom(...values.map((value) => value.number));
      return valid ? spelled<JsonValue>(names, numbers) : fc.oneof(names, numbers, fc.constantFrom(99, -1));
    }
    return scalar(field);
  }

  function scalar(field: DescField): Arbitrary<JsonValue> {
    switch (field.scalar) {
      case ScalarType.STRING:
        if (!valid) return text;
        if (holdsIds(field)) return isRequired(field) ? id : fc.oneof(id, fc.constant(""));
        return isRequired(field) && field.fieldKind === "scalar" ? someText.filter((value) => value !== "") : text;
      case ScalarType.BOOL:
        return fc.boolean();
      case ScalarType.INT32:
        return spelled<JsonValue>(
          int32,
          fc.oneof(
            int32.map(String),
            int32.map((value) => value.toExponential()),
          ),
        );
      case ScalarType.BYTES:
        return spelled(
          bytes.map((value) => value.toString("base64")),
          fc.oneof(
            bytes.map((value) => value.toString("base64url")),
            bytes.map((value) => value.toString("base64").replace(/=+$/, "")),
          ),
        );
      default:
        throw new TypeError(`${field} is of a type that isn't generated yet`);
    }
  }

  function wellKnown({ typeName }: DescMessage): Arbitrary<JsonValue> | undefined {
    if (typeName === "google.protobuf.Struct") return struct;
    if (typeName === "google.protobuf.Value") return anyJson;
    return typeName === "google.protobuf.Timestamp" ? spelled(time, otherTime) : undefined;
  }

  return messageJson;
}

const YEAR_1 = new Date("0001-01-01T00:00:00Z");
const YEAR_9999 = new Date("9999-12-31T23:59:59.999Z");
const date = fc.oneof(
  fc.date({ min: YEAR_1, max: YEAR_9999, noInvalidDate: true }),
  fc.constantFrom(YEAR_1, YEAR_9999, new Date(0), new Date(-1)),
);
const time = date.map((value) => value.toISOString());
/** With zones, with other precisions. A day from both ends, so that no zone leads beyond them. */
const otherTime = fc
  .tuple(
    fc.date({ min: new Date("0001-01-03T00:00:00Z"), max: new Date("9999-12-29T00:00:00Z"), noInvalidDate: true }),
    fc.constantFrom("", ".1", ".123456", ".123456789", ".000000001"),
    fc.constantFrom("Z", "+00:00", "-00:00", "+14:00", "-12:45", "+23:59"),
  )
  .map(([value, fraction, zone]) => `${value.toISOString().slice(0, 19)}${fraction}${zone}`);
