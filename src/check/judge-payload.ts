import type { DescMessage } from "@bufbuild/protobuf";
import type { Violation } from "../a2a/errors.js";
import { isRequired } from "../a2a/required.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { v1 } from "../a2a/v1.js";
import { messageTypes, validateAs } from "../a2a/validate.js";
import { judgeMeaning, judgeRpcAnswer, judgeRpcRequest, judgeStatusBody } from "./error-shape.js";

/** What a payload is, and what is wrong with it. */
export interface JudgedPayload {
  /** The name of the message, or what else it is: `JSON-RPC error`. */
  readonly type: string;
  /** What else it may be as well, where the type was guessed; empty: only this. Absent: it was told, or said by the payload itself. */
  readonly alternatives?: readonly string[];
  readonly violations: readonly Violation[];
}

/** What is known of a payload beforehand. */
export interface PayloadHints {
  /** What it is, or what is in its JSON-RPC envelope. Default: guessed. */
  readonly schema?: DescMessage | undefined;
  /** It was an event of a stream. */
  readonly isEvent?: boolean;
}

/** Messages that go over a wire by themselves: they are guessed before those that are parts of others. */
const traveling: ReadonlySet<DescMessage> = new Set(v1.operations.flatMap(({ input, output }) => [output, input]));

/**
 * Judges a payload in JSON as what it is said to be, or else as whatever it is: a message of the contract, a JSON-RPC request or answer
 * around one, or an error of one of the JSON bindings (§9.5, §11.6). Paths start at the payload's outside.
 *
 * @returns `undefined` when nothing says what it is.
 */
export function judgePayload(json: unknown, hints: PayloadHints = {}): JudgedPayload | undefined {
  if (isObject(json) && Object.hasOwn(json, "jsonrpc"))
    return Object.hasOwn(json, "method") ? judgeCall(json, hints) : judgeAnswer(json, hints);
  const looksLikeError = isObject(json) && isObject(json.error) && Object.keys(json).length === 1;
  if (looksLikeError && hints.schema === undefined)
    return { type: "HTTP+JSON error", violations: [...judgeStatusBody(json), ...judgeMeaning(json.error, "http")] };
  return judgeContent(json, hints, [...messageTypes.values()]);
}

function judgeAnswer(json: UnknownObject, hints: PayloadHints): JudgedPayload {
  const violations = judgeRpcAnswer(json);
  if (Object.hasOwn(json, "result")) {
    const result = judgeContent(json.result, hints, outputs) ?? judgeUnknownResult(json.result);
    return { ...result, violations: [...violations, ...inside("result", result.violations)] };
  }
  if (hints.schema === undefined)
    return { type: "JSON-RPC error", violations: [...violations, ...judgeMeaning(json.error, "jsonRpc")] };
  const { name } = hints.schema;
  const absent = { path: "result", rule: "REQUIRED", description: `must be there, and be a ${name}`, section: "§9.5" };
  return { type: name, violations: [...violations, absent] };
}

const outputs: readonly DescMessage[] = [...new Set(v1.operations.map(({ output }) => output))];

/** Nothing is what a deletion answers. */
function judgeUnknownResult(result: unknown): JudgedPayload {
  const isNothing = isObject(result) && Object.keys(result).length === 0;
  const names = outputs.map(({ name }) => name).join(", ");
  const description = isObject(result) ? `has no member of any answer: of ${names}` : "must be a JSON object";
  const violations = isNothing ? [] : [{ path: "", rule: "TYPE", description, section: "§5.3" }];
  return { type: "JSON-RPC answer", violations };
}

function judgeCall(json: UnknownObject, hints: PayloadHints): JudgedPayload {
  const violations = judgeRpcRequest(json);
  const operation = v1.operations.find(({ name }) => name === json.method);
  if (operation === undefined && typeof json.method === "string" && json.method !== "") {
    const known = v1.operations.map(({ name }) => name).join(", ");
    violations.push({ path: "method", rule: "METHOD", description: `must be one of ${known}`, section: "§5.3" });
  }
  const schema = hints.schema ?? operation?.input;
  if (schema === undefined) return { type: "JSON-RPC request", violations };
  const { params = {} } = json;
  const found = isObject(params) ? inside("params", validateAs(schema, params)) : [];
  return { type: schema.name, violations: [...violations, ...found] };
}

function judgeContent(
  json: unknown,
  { schema, isEvent = false }: PayloadHints,
  candidates: readonly DescMessage[],
): JudgedPayload | undefined {
  const known = schema ?? (isEvent ? messageTypes.get("StreamResponse") : undefined);
  if (known !== undefined) return { type: known.name, violations: validateAs(known, json) };
  if (!isObject(json)) return undefined;
  const [best, ...alternatives] = guess(json, candidates);
  if (best === undefined) return undefined;
  return {
    type: best.name,
    alternatives: alternatives.map(({ name }) => name),
    violations: validateAs(best, json),
  };
}

/** The types that fit best, all equally well: those that know most members; then those that travel; then those that miss least. */
function guess(json: UnknownObject, candidates: readonly DescMessage[]): readonly DescMessage[] {
  const keys = Object.keys(json);
  const unknown = (schema: DescMessage) => {
    const names = new Set(schema.fields.flatMap((field) => [field.jsonName, field.name]));
    return keys.filter((key) => !names.has(key)).length;
  };
  const missing = ({ fields }: DescMessage) =>
    fields.filter((field) => isRequired(field) && (json[field.jsonName] ?? json[field.name] ?? null) === null).length;
  const knowing = candidates.filter((schema) => unknown(schema) < keys.length);
  return [unknown, (schema: DescMessage) => (traveling.has(schema) ? 0 : 1), missing, violationsIn(json)].reduce(
    fewest,
    knowing,
  );
}

function violationsIn(json: UnknownObject): (schema: DescMessage) => number {
  return (schema) => validateAs(schema, json).length;
}

/** Those of which something is least. */
function fewest(schemas: readonly DescMessage[], of: (schema: DescMessage) => number): readonly DescMessage[] {
  const counted = schemas.map((schema) => ({ schema, count: of(schema) }));
  const least = Math.min(...counted.map(({ count }) => count));
  return counted.filter(({ count }) => count === least).map(({ schema }) => schema);
}

/** The same violations, a member further in. */
function inside(member: string, violations: readonly Violation[]): Violation[] {
  return violations.map((violation) => {
    const { path } = violation;
    const joint = path === "" || path.startsWith("[") ? "" : ".";
    return { ...violation, path: `${member}${joint}${path}` };
  });
}
