import type { DescMessage } from "@bufbuild/protobuf";
import type { Violation } from "../a2a/errors.js";
import { isRequired } from "../a2a/required.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { v1 } from "../a2a/v1.js";
import { messageTypes, validateAs } from "../a2a/validate.js";
import { judgeRpcAnswer, judgeRpcRequest, judgeStatusBody } from "./error-shape.js";

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
  /** Default: guessed. */
  readonly schema?: DescMessage | undefined;
  /** It was an event of a stream. */
  readonly isEvent?: boolean;
}

/** Messages that go over a wire by themselves: they are guessed before those that are parts of others. */
const traveling: ReadonlySet<DescMessage> = new Set(v1.operations.flatMap(({ input, output }) => [output, input]));

/**
 * Judges a payload in JSON as whatever it is: a message of the contract, a JSON-RPC request or answer around one, or an error of one of the
 * JSON bindings (§9.5, §11.6). Paths start at the payload's outside.
 *
 * @returns `undefined` when nothing says what it is.
 */
export function judgePayload(json: unknown, hints: PayloadHints = {}): JudgedPayload | undefined {
  if (isObject(json) && Object.hasOwn(json, "jsonrpc")) return judgeRpc(json, hints);
  const looksLikeError = isObject(json) && isObject(json.error) && Object.keys(json).length === 1;
  if (looksLikeError) return { type: "HTTP+JSON error", violations: judgeStatusBody(json) };
  return judgeMessage(json, hints, [...messageTypes.values()]);
}

function judgeRpc(json: UnknownObject, hints: PayloadHints): JudgedPayload {
  if (Object.hasOwn(json, "method")) return judgeCall(json);
  const violations = judgeRpcAnswer(json);
  if (!Object.hasOwn(json, "result")) return { type: "JSON-RPC error", violations };
  const outputs = [...new Set(v1.operations.map(({ output }) => output))];
  const result = judgeMessage(json.result, hints, outputs);
  if (result === undefined) return { type: "JSON-RPC answer", violations };
  return { ...result, violations: [...violations, ...inside("result", result.violations)] };
}

function judgeCall(json: UnknownObject): JudgedPayload {
  const violations = judgeRpcRequest(json);
  const operation = v1.operations.find(({ name }) => name === json.method);
  if (operation !== undefined) {
    const { params = {} } = json;
    const found = isObject(params) ? inside("params", validateAs(operation.input, params)) : [];
    return { type: operation.input.name, violations: [...violations, ...found] };
  }
  const known = v1.operations.map(({ name }) => name).join(", ");
  const unknown = { path: "method", rule: "METHOD", description: `must be one of ${known}`, section: "§5.3" };
  const isNamed = typeof json.method === "string" && json.method !== "";
  return { type: "JSON-RPC request", violations: isNamed ? [...violations, unknown] : violations };
}

function judgeMessage(
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
