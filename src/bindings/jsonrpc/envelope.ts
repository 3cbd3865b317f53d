import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { A2AError, errorDetails, errorRow, invalidParams } from "../../a2a/errors.js";
import { isObject } from "../../a2a/unknown-json.js";

/** `null` where none could be read (JSON-RPC 2.0 §5). */
export type RequestId = string | number | null;

/** A JSON-RPC 2.0 request (§9.3). */
export interface RpcRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
}

/** The id of whatever came, for its answer: `null` unless there is a usable one. */
export function idOf(payload: unknown): RequestId {
  return isObject(payload) && isRequestId(payload.id) ? payload.id : null;
}

/**
 * Reads a request. One without an `id` would be a notification; over HTTP an answer is due, so that it is refused and nothing happens.
 *
 * @throws A2AError INVALID_REQUEST; INVALID_PARAMS when `params` is neither an object nor absent.
 */
export function readRequest(payload: unknown): RpcRequest {
  if (Array.isArray(payload)) throw invalid("batches are not supported");
  if (!isObject(payload)) throw invalid("not an object");
  const { jsonrpc, id, method, params } = payload;
  if (jsonrpc !== "2.0") throw invalid('jsonrpc must be "2.0"');
  if (id === undefined) throw invalid("an id is missing; notifications are not supported");
  if (!isRequestId(id)) throw invalid("the id must be a string or a number that JSON carries exactly");
  if (typeof method !== "string" || method === "") throw invalid("the method must be a name");
  if (params !== undefined && params !== null && !isObject(params))
    throw invalidParams([{ path: "", rule: "TYPE", description: "must be a JSON object", section: "§9.3" }]);
  return { id, method, params: (params ?? {}) as JsonObject };
}

/** The text of an answer. */
export function resultText(id: RequestId, result: JsonValue): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

/** The text of a refusal (§9.5). */
export function errorText(id: RequestId, error: A2AError): string {
  const data = errorDetails(error);
  const { jsonRpc: code } = errorRow(error.reason);
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    error: { code, message: error.message, ...(data.length > 0 && { data }) },
  });
}

/** A number beyond 2^53 would come back as another one. */
function isRequestId(id: unknown): id is RequestId {
  if (typeof id === "number") return Number.isFinite(id) && (!Number.isInteger(id) || Number.isSafeInteger(id));
  return typeof id === "string" || id === null;
}

function invalid(what: string): A2AError {
  return new A2AError("INVALID_REQUEST", `${errorRow("INVALID_REQUEST").message}: ${what}`);
}
