import type { JsonObject } from "@bufbuild/protobuf";
import { exchange, type Headers, type Operation, requestOf, type Sent, type Wire } from "./exchange.js";
import { type Outcome, outcomeOf, type Refusal } from "./outcome.js";

/** Asks for an operation in the bytes of a wire, and reads the answer by the contract alone. */
export async function ask(
  origin: string,
  wire: Wire,
  operation: Operation,
  request: JsonObject,
  headers: Headers = {},
): Promise<Outcome> {
  return tell(origin, wire, operation, requestOf(wire, operation, request, headers));
}

/** The same, of a request that was put together by hand. */
export async function tell(origin: string, wire: Wire, operation: Operation, sent: Sent): Promise<Outcome> {
  return outcomeOf(wire, operation, await exchange(origin, wire, sent));
}

/** The one message of an answer. @throws with the refusal, if it is one. */
export function answerOf<T = JsonObject>({ messages, error }: Outcome): T {
  if (error !== undefined || messages.length !== 1)
    throw new Error(`Expected one answer, got ${messages.length} and ${JSON.stringify(error)}`);
  return messages[0] as T;
}

const STANDARD: Readonly<Record<string, string>> = {
  [-32700]: "PARSE_ERROR",
  [-32600]: "INVALID_REQUEST",
  [-32601]: "METHOD_NOT_FOUND",
  [-32602]: "INVALID_PARAMS",
  INVALID_ARGUMENT: "INVALID_PARAMS",
  3: "INVALID_PARAMS",
  invalid_argument: "INVALID_PARAMS",
};

/** What was said in the end: `"ok"`, the reason of the refusal, or for the errors that have none (§9.5) what its code means. */
export function verdictOf({ error }: { readonly error: Refusal | undefined }): string {
  if (error === undefined) return "ok";
  return error.reason ?? STANDARD[error.code] ?? String(error.code);
}

let ids = 0;

/** A SendMessageRequest as ProtoJSON. Each message has an id of its own. */
export function saying(text: string, fields: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  return {
    message: { messageId: `m-${process.pid}-${++ids}`, role: "ROLE_USER", parts: [{ text }], ...fields },
    ...rest,
  };
}
