import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  ScalarType,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeJson, encodeJson, violationsOf } from "../../src/a2a/codec.js";
import { A2AError, type Violation } from "../../src/a2a/errors.js";
import { isRequired } from "../../src/a2a/required.js";
import { PartSchema } from "../../src/a2a/types.js";
import { contractMessages, createGenerator, nested } from "./arbitrary.js";
import { brokenJson, withAnything } from "./broken.js";

const canonical = createGenerator();
const spelled = createGenerator({ spelling: "every" });
const loose = createGenerator({ valid: false });

/** `GENERATIVE_SEED=… GENERATIVE_RUNS=…` for other values than those of every day. */
const given = {
  seed: Number(process.env.GENERATIVE_SEED ?? 7),
  numRuns: Number(process.env.GENERATIVE_RUNS ?? 60),
};

/** Bytes are compared, for they hold everything; maps and Structs keep the order in which they came. */
function sameBytes(desc: DescMessage, one: Message, other: Message): void {
  expect(Buffer.from(toBinary(desc, one)).toString("hex")).toBe(Buffer.from(toBinary(desc, other)).toString("hex"));
}

/** As a wire carries it. */
const asText = (json: unknown): JsonValue => JSON.parse(JSON.stringify(json)) as JsonValue;

function violationsOfJson(desc: DescMessage, json: JsonValue): readonly Violation[] {
  try {
    decodeJson(desc, json);
    return [];
  } catch (error) {
    if (error instanceof A2AError && error.reason === "INVALID_PARAMS") return error.violations;
    throw error;
  }
}

/** `undefined` where it is refused. */
function readOrRefused(desc: DescMessage, value: unknown, from: "caller" | "peer"): Message | undefined {
  try {
    return decodeJson(desc, value, { from });
  } catch (error) {
    expect(error).toBeInstanceOf(A2AError);
    return undefined;
  }
}

describe.each(contractMessages.map((desc) => [desc.name, desc] as const))("%s", (_name, desc) => {
  it("is read as protobuf-es reads it, in every spelling of ProtoJSON", () => {
    fc.assert(
      fc.property(spelled(desc), (json) => {
        const ours = decodeJson(desc, json);
        sameBytes(desc, ours, fromJson(desc, json, { ignoreUnknownFields: true }));
        expect(violationsOf(desc, ours)).toEqual([]);
      }),
      given,
    );
  });

  it("is written as protobuf-es writes it, but for milliseconds and REQUIRED members", () => {
    fc.assert(
      fc.property(canonical(desc), (json) => {
        const message = fromJson(desc, json);
        expect(JSON.stringify(encodeJson(desc, message))).toBe(
          JSON.stringify(asWeWrite(desc, asText(toJson(desc, message)))),
        );
      }),
      given,
    );
  });

  it("comes back from JSON and from binary as it was", () => {
    fc.assert(
      fc.property(canonical(desc), (json) => {
        const message = decodeJson(desc, json);
        const written = asText(encodeJson(desc, message));
        sameBytes(desc, decodeJson(desc, written), message);
        expect(JSON.stringify(encodeJson(desc, decodeJson(desc, written)))).toBe(JSON.stringify(written));
        const back = fromBinary(desc, toBinary(desc, message));
        sameBytes(desc, back, message);
        expect(JSON.stringify(encodeJson(desc, back))).toBe(JSON.stringify(written));
      }),
      given,
    );
  });

  it("is read from a peer as from a caller, and with members that are unknown or null", () => {
    const beside = { "a field of tomorrow": [1], "": null };
    fc.assert(
      fc.property(spelled(desc), (json) => {
        const ours = decodeJson(desc, json);
        sameBytes(desc, decodeJson(desc, { ...beside, ...json }), ours);
        const others = desc.fields.filter(
          ({ oneof, name, jsonName }) => oneof && !(name in json) && !(jsonName in json),
        );
        const nulls = Object.fromEntries(others.map(({ jsonName }) => [jsonName, null]));
        sameBytes(desc, decodeJson(desc, { ...beside, ...nulls, ...json }, { from: "peer" }), ours);
      }),
      given,
    );
  });

  it("is judged alike from binary and from JSON, whatever it lacks", () => {
    fc.assert(
      fc.property(loose(desc), (json) => {
        const message = fromBinary(desc, toBinary(desc, fromJson(desc, json)));
        expect(inOrder(violationsOf(desc, message))).toEqual(
          inOrder(violationsOfJson(desc, asText(encodeJson(desc, message)))),
        );
      }),
      given,
    );
  });

  it("is refused for its one fault, with its path and its rule", () => {
    fc.assert(
      fc.property(brokenJson(desc), ({ json, path, rule }) => {
        const found = violationsOfJson(desc, json).map((one) => ({ path: one.path, rule: one.rule }));
        const begins = path.endsWith("…") ? expect.stringContaining(path.slice(0, -1)) : path;
        expect(found).toEqual([{ path: begins, rule }]);
      }),
      given,
    );
  });

  it("gives nothing but a refusal, whatever stands in place of one of its values", () => {
    fc.assert(
      fc.property(withAnything(spelled(desc)), fc.constantFrom("caller", "peer"), (value, from) => {
        const message = readOrRefused(desc, value, from);
        if (message === undefined) return;
        const written = asText(encodeJson(desc, message)); // what was taken can be written, and is taken again
        expect(JSON.stringify(encodeJson(desc, decodeJson(desc, written, { from })))).toBe(JSON.stringify(written));
      }),
      { ...given, numRuns: given.numRuns * 5 },
    );
  });
});

describe("depth", () => {
  const lists = { data: [true, false], metadata: [false] };
  it.each(["data", "metadata"] as const)("of %s has one limit, from binary and from JSON", (member) => {
    const refusedAt = new Set<number>();
    for (const list of lists[member]) {
      for (let levels = 1; levels <= 120; levels++) {
        const json = { ...(member === "metadata" && { text: "x" }), [member]: nested(levels, list) };
        const bytes = toBinary(PartSchema, fromJson(PartSchema, json, { recursionLimit: 1_000 }));
        const found = inOrder(violationsOf(PartSchema, fromBinary(PartSchema, bytes, { recursionLimit: 1_000 })));
        expect(found).toEqual(inOrder(violationsOfJson(PartSchema, json)));
        if (found.length > 0) refusedAt.add(levels);
      }
    }
    expect(Math.min(...refusedAt)).toBeGreaterThan(30);
    expect(refusedAt.size).toBe(120 - Math.min(...refusedAt) + 1); // and nothing deeper is taken
  });
});

function inOrder(violations: readonly Violation[]): string[] {
  return violations.map(({ path, rule }) => `${path} ${rule}`).sort();
}

/** What protobuf-es writes, with our milliseconds and our always present REQUIRED members. */
function asWeWrite(desc: DescMessage, written: JsonValue): JsonValue {
  if (desc.typeName === "google.protobuf.Timestamp") return new Date(written as string).toISOString();
  if (/\.(Struct|Value)$/.test(desc.typeName)) return written;
  const members = written as JsonObject;
  return Object.fromEntries(
    desc.fields.flatMap((field) => {
      const value = members[field.jsonName];
      if (value !== undefined) return [[field.jsonName, memberAsWeWrite(field, value)]];
      return isRequired(field) && field.fieldKind !== "message" ? [[field.jsonName, emptyOf(field)]] : [];
    }),
  );
}

function memberAsWeWrite({ message, fieldKind }: DescField, value: JsonValue): JsonValue {
  if (message === undefined) return value;
  if (fieldKind === "list") return (value as JsonValue[]).map((item) => asWeWrite(message, item));
  if (fieldKind !== "map") return asWeWrite(message, value);
  return Object.fromEntries(Object.entries(value as JsonObject).map(([key, item]) => [key, asWeWrite(message, item)]));
}

function emptyOf(field: DescField): JsonValue {
  if (field.fieldKind === "list") return [];
  if (field.fieldKind === "map") return {};
  return field.scalar === ScalarType.STRING ? "" : field.scalar === ScalarType.BOOL ? false : 0;
}
