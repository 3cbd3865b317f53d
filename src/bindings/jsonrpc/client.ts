import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../../a2a/call.js";
import { type A2AError, errorTable, type Reason } from "../../a2a/errors.js";
import type { Handler } from "../../a2a/handler.js";
import type { Operation } from "../../a2a/operation.js";
import { isObject } from "../../a2a/unknown-json.js";
import { v1 } from "../../a2a/v1.js";
import {
  createWireHandler,
  errorOfBareAnswer,
  exchange,
  invalidAnswer,
  isEventStream,
  readAnswer,
  type WireClientOptions,
} from "../client.js";
import { JSON_TYPE } from "../media-type.js";
import { readEvents } from "../read-events.js";
import { type HttpAnswer, readPeerError, reasonOfStatus } from "../wire-error.js";

/** A Handler that speaks JSON-RPC (§9): the mirror of the binding. A response's envelope outranks its HTTP status. */
export function createJsonRpcClient(options: WireClientOptions): Handler {
  const version = options.version ?? v1;
  let lastId = 0;

  const post = (
    operation: Operation,
    request: Message,
    call: Call,
    id: number,
    accept: string,
    released?: AbortSignal,
  ) => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: operation.name,
      params: operation.writeRequest(request),
    });
    return exchange(
      options,
      version.id,
      { url: options.url, method: "POST", accept, body, contentType: JSON_TYPE },
      call,
      released,
    );
  };

  return createWireHandler(version, {
    async unary(operation, request, call) {
      const id = ++lastId;
      const opened = await post(operation, request, call, id, JSON_TYPE);
      try {
        const { json, cause } = await readAnswer(opened, options, call);
        const result = resultOf(json, id, cause);
        return operation.readResponse(result === null && operation.output.fields.length === 0 ? {} : result);
      } finally {
        opened.release();
      }
    },
    async *stream(operation, request, call, released) {
      const id = ++lastId;
      const opened = await post(operation, request, call, id, `text/event-stream, ${JSON_TYPE}`, released);
      if (isEventStream(opened.response)) {
        yield* readEvents(opened, operation, (json, cause) => resultOf(json, id, cause), options, call);
        return;
      }
      try {
        const { json, cause } = await readAnswer(opened, options, call);
        resultOf(json, id, cause);
        throw invalidAnswer("a stream was asked for", cause);
      } finally {
        opened.release();
      }
    },
  });
}

/** Takes the result out of a response to request `id`. @throws A2AError: the peer's, or INVALID_AGENT_RESPONSE if it is none. */
function resultOf(response: unknown, id: number, cause: HttpAnswer): unknown {
  if (!isObject(response) || response.jsonrpc !== "2.0") throw errorOfBareAnswer(cause);
  const { error, result } = response;
  const failed = error !== undefined && error !== null;
  if (failed && result !== undefined && result !== null) throw invalidAnswer("both a result and an error", cause);
  // Who can't read a request can't read its id.
  if (response.id !== id && !(failed && (response.id === null || response.id === undefined)))
    throw invalidAnswer("it answers another request", cause);
  if (failed) throw errorOf(error, cause);
  if (result === undefined) throw invalidAnswer("neither a result nor an error", cause);
  return result;
}

function errorOf(error: unknown, cause: HttpAnswer): A2AError {
  const { code, message, data } = isObject(error) ? error : {};
  const otherwise = reasonOfCode(code) ?? (cause.status >= 400 ? reasonOfStatus(cause.status) : "INTERNAL");
  return readPeerError({ message: typeof message === "string" ? message : undefined, details: data, otherwise }, cause);
}

/** What a code says by itself: those of the specification. One of ours is another's error when its `ErrorInfo` doesn't say so. */
function reasonOfCode(code: unknown): Reason | undefined {
  const rows = Object.entries(errorTable) as [Reason, { jsonRpc: number; domain?: string }][];
  return rows.find(
    ([reason, row]) => row.jsonRpc === code && (row.domain !== errorTable.INTERNAL.domain || reason === "INTERNAL"),
  )?.[0];
}
