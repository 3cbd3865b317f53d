import type { Principal } from "../../a2a/call.js";
import { A2AError, errorRow } from "../../a2a/errors.js";
import type { Operation } from "../../a2a/operation.js";
import type { ProtocolVersion } from "../../a2a/protocol-version.js";
import {
  type BindingContext,
  callOf,
  echoOf,
  invoke,
  startStream,
  type WireBinding,
  type WireRequest,
  type WireResponse,
} from "../binding.js";
import { parseJson } from "../json.js";
import { isJson } from "../media-type.js";
import { readOrRefused } from "../read-or-refused.js";
import { negotiateVersion, readServiceParameters } from "../service-parameters.js";
import { type EventWriter, eventFrames, streamHeaders } from "../sse.js";
import { errorHeaders, refusalOf } from "../wire-error.js";
import { errorText, idOf, type RequestId, type RpcRequest, readRequest, resultText } from "./envelope.js";

/** What keeps its HTTP status; every other refusal is a 200 with an `error`, as JSON-RPC has it. */
const HTTP_LEVEL = new Set([401, 403, 405, 413, 415, 429, 503]);

/** The JSON-RPC binding (§9): POST of one request, answered by one response or by an event stream of responses. */
export function createJsonRpcBinding(context: BindingContext): WireBinding {
  const methods = new Map(
    context.versions.map((version) => [
      version,
      new Map(version.operations.map((operation) => [operation.name, operation])),
    ]),
  );

  function refused(id: RequestId, error: A2AError, status = errorRow(error.reason).http): WireResponse {
    const kept = HTTP_LEVEL.has(status) ? status : 200;
    const headers = { "content-type": "application/json", ...errorHeaders(error, kept, context.challenges) };
    return {
      status: kept,
      headers: status === 405 ? { ...headers, allow: "POST" } : headers,
      body: errorText(id, error),
    };
  }

  /** The method, as the version that was asked for has it. */
  function operationNamed(name: string, version: ProtocolVersion): Operation {
    const operation = methods.get(version)?.get(name);
    if (operation !== undefined) return operation;
    const other = context.versions.find((candidate) => methods.get(candidate)?.has(name));
    const hint =
      other === undefined
        ? "method names are PascalCase, such as SendMessage"
        : `it is a method of A2A ${other.id}, and the request says ${version.id}`;
    throw new A2AError("METHOD_NOT_FOUND", `Method not found; ${hint}`);
  }

  async function answer(
    request: WireRequest,
    { id, method, params }: RpcRequest,
    principal: Principal,
  ): Promise<WireResponse> {
    const { headers, query, signal } = request;
    const operation = operationNamed(method, negotiateVersion(headers, query, context.versions));
    const message = readOrRefused(context, operation, headers, {
      read: () => operation.readRequest(params),
      raw: () => params,
    });
    const call = callOf(message, principal, readServiceParameters(headers), signal);
    if (!operation.streaming) {
      const result = operation.writeResponse(await invoke(context.handler, operation, message, call));
      const headers = { "content-type": "application/json", ...echoOf(context, call) };
      return { status: 200, headers, body: resultText(id, result) };
    }
    const stream = await startStream(context.handler, operation, message, call);
    const writer: EventWriter = {
      event: (event) => resultText(id, operation.writeResponse(event)),
      error: (thrown) => errorText(id, refusalOf(thrown, context, signal)),
    };
    const sent = { ...streamHeaders, ...echoOf(context, call) };
    return { status: 200, headers: sent, body: eventFrames(stream, writer, context, signal) };
  }

  async function handle(request: WireRequest): Promise<WireResponse> {
    let id: RequestId = null;
    try {
      if (request.method !== "POST") throw new A2AError("METHOD_NOT_ALLOWED");
      if (context.draining.aborted) throw new A2AError("DRAINING");
      if (!isJson(request.headers))
        return refuse(new A2AError("CONTENT_TYPE_NOT_SUPPORTED", "The content type must be application/json"));
      const principal = await context.authenticate(request.auth); // before the body costs anything
      const payload = parseJson(request.body, context.maxDepth);
      id = idOf(payload);
      return await answer(request, readRequest(payload), principal);
    } catch (thrown) {
      return refused(id, refusalOf(thrown, context, request.signal));
    }
  }

  /** A request's own media type is judged by HTTP; a part's, by the handler, is an answer like any other. */
  function refuse(error: A2AError): WireResponse {
    return refused(null, error, error.reason === "CONTENT_TYPE_NOT_SUPPORTED" ? 415 : undefined);
  }

  return { handle, refuse };
}
