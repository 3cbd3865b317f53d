import { type DescEnum, ScalarType } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { BROKEN, type Judgement, judgeText, type Kind } from "./codec-judgement.js";

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

/** @param holdsIds see `holdsIds` in required.ts. */
export function scalarKind(type: ScalarType, holdsIds: boolean, longAsString: boolean): Kind {
  switch (type) {
    case ScalarType.STRING:
      return holdsIds ? idKind : textKind;
    case ScalarType.BOOL:
      return boolKind;
    case ScalarType.BYTES:
      return bytesKind;
    case ScalarType.DOUBLE:
      return floatKind(Number.MAX_VALUE);
    case ScalarType.FLOAT:
      return floatKind((2 - 2 ** -23) * 2 ** 127);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return intKind(INT32_MIN, INT32_MAX);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return intKind(0, 2 ** 32 - 1);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return longKind(0n, 2n ** 64n - 1n, longAsString);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return longKind(-(2n ** 63n), 2n ** 63n - 1n, longAsString);
  }
}

const textKind: Kind<string> = {
  read: (json, judgement) =>
    typeof json === "string" ? judgeText(json, judgement) : judgement.fail("TYPE", "must be a string"),
  write: (value) => value,
  check: (value, judgement) => void judgeText(value, judgement),
  isZero: (value) => value === "",
};

const idKind: Kind<string> = {
  ...textKind,
  read: (json, judgement) => {
    const text = textKind.read(json, judgement);
    return text === BROKEN ? BROKEN : judgeId(text, judgement);
  },
  check: (value, judgement) => {
    if (judgeText(value, judgement) !== BROKEN) judgeId(value, judgement);
  },
};

function judgeId(id: string, judgement: Judgement): string | typeof BROKEN {
  // Databases cut such a string, or refuse it: the id that is read back would be another.
  return id.includes("\0") ? judgement.fail("NUL", "must not hold U+0000: an id has to survive every database") : id;
}

const boolKind: Kind<boolean> = {
  read: (json, judgement) => (typeof json === "boolean" ? json : judgement.fail("TYPE", "must be true or false")),
  write: (value) => value,
  check: () => {},
  isZero: (value) => !value,
};

const bytesKind: Kind<Uint8Array> = {
  read: (json, judgement) => {
    if (typeof json !== "string") return judgement.fail("TYPE", "must be a string of base64", "§4.1.6");
    return readBase64(json) ?? judgement.fail("BASE64", "must be base64 or base64url, and nothing else", "§4.1.6");
  },
  write: writeBase64,
  check: () => {},
  isZero: (value) => value.length === 0,
};

/** Absent in a browser. There it is protobuf-es's own, which is ten times slower. */
const NodeBuffer = globalThis.Buffer as typeof Buffer | undefined;

/** Bytes of base64 or base64url, padded or not; `undefined` for anything else. */
export function readBase64(text: string): Uint8Array | undefined {
  const match = /^[\w+/-]*(={0,2})$/.exec(text);
  if (match === null) return undefined;
  const padding = match[1] ?? "";
  if (padding !== "" ? text.length % 4 !== 0 : text.length % 4 === 1) return undefined;
  // A copy: small Buffers share one memory, and what is beside them isn't the caller's business.
  return NodeBuffer === undefined ? base64Decode(text) : new Uint8Array(NodeBuffer.from(text, "base64"));
}

/** Standard base64 with padding. */
function writeBase64(bytes: Uint8Array): string {
  if (NodeBuffer === undefined) return base64Encode(bytes);
  return NodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** A number, or the text of one, with or without an exponent: ProtoJSON has both for every numeric type. Anything else as it is. */
function numberIn(json: unknown): unknown {
  return typeof json === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(json) ? Number(json) : json;
}

function intKind(min: number, max: number): Kind<number> {
  return {
    read: (json, judgement) => {
      const number = numberIn(json);
      if (typeof number !== "number" || !Number.isFinite(number)) return judgement.fail("TYPE", "must be an integer");
      if (!Number.isInteger(number)) return judgement.fail("RANGE", "must be an integer");
      if (number < min || number > max) return judgement.fail("RANGE", `must be between ${min} and ${max}`);
      return number + 0; // never -0
    },
    write: (value) => value,
    check: () => {},
    isZero: (value) => value === 0,
  };
}

function longKind(min: bigint, max: bigint, asString: boolean): Kind<bigint | string> {
  return {
    read: (json, judgement) => {
      const digits = typeof json === "string" && /^-?\d{1,20}$/.test(json) ? json : numberIn(json);
      if (typeof digits !== "string" && !Number.isSafeInteger(digits))
        return judgement.fail("TYPE", "must be an integer, written as a string if it is large");
      const long = BigInt(digits as number | string);
      if (long < min || long > max) return judgement.fail("RANGE", `must be between ${min} and ${max}`);
      return asString ? String(long) : long;
    },
    write: String,
    check: () => {},
    isZero: (value) => BigInt(value) === 0n,
  };
}

function floatKind(max: number): Kind<number> {
  return {
    read: (json, judgement) => {
      if (json === "NaN" || json === "Infinity" || json === "-Infinity") return Number(json);
      const number = numberIn(json);
      if (typeof number !== "number" || Number.isNaN(number)) return judgement.fail("TYPE", "must be a number");
      return Math.abs(number) > max ? judgement.fail("RANGE", "is too large") : number;
    },
    write: (value) => (Number.isFinite(value) ? value : String(value)),
    check: () => {},
    isZero: (value) => value === 0,
  };
}

/** An enum by its names (§5.5). */
export function enumKind(desc: DescEnum): Kind<number> {
  const numbers = new Map(desc.values.map((value) => [value.name, value.number]));
  const names = new Map(desc.values.map((value) => [value.number, value.name]));
  const choices = `must be one of ${desc.values
    .filter((value) => value.number !== 0)
    .map((value) => value.name)
    .join(", ")}`;
  return {
    read: (json, judgement) => {
      if (typeof json !== "string" && typeof json !== "number") return judgement.fail("TYPE", choices, "§5.5");
      const number = typeof json === "string" ? numbers.get(json) : json;
      if (typeof json === "number" && judgement.exact) return judgement.fail("ENUM", choices, "§5.5");
      if (number !== undefined && names.has(number)) return number + 0;
      if (!judgement.forgiving) return judgement.fail("ENUM", choices, "§5.5");
      if (number === undefined) return 0;
      const isPossible = Number.isInteger(number) && number >= INT32_MIN && number <= INT32_MAX;
      return isPossible ? number : judgement.fail("ENUM", choices, "§5.5");
    },
    write: (value) => names.get(value) ?? value,
    check: (value, judgement) => {
      if (!names.has(value)) judgement.fail("ENUM", choices, "§5.5");
    },
    isZero: (value) => value === 0,
  };
}
