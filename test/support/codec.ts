import type { DescMessage } from "@bufbuild/protobuf";
import { type DecodeOptions, decodeJson, encodeJson } from "../../src/a2a/codec.js";
import { A2AError, type Violation } from "../../src/a2a/errors.js";

export const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
export const task = { id: "t1", status: { state: "TASK_STATE_WORKING" } };
export const part = (members: object) => ({ message: { ...message, parts: [members] } });

export function refusal(schema: DescMessage, json: unknown, options?: DecodeOptions): A2AError {
  try {
    decodeJson(schema, json, options);
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

export const rules = (violations: readonly Violation[]) => violations.map(({ path, rule }) => `${path} ${rule}`);
export const refused = (schema: DescMessage, json: unknown, options?: DecodeOptions) =>
  rules(refusal(schema, json, options).violations);
export const again = (schema: DescMessage, json: unknown) => encodeJson(schema, decodeJson(schema, json));

export function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}
