import type { JsonObject } from "@bufbuild/protobuf";
import type { Call } from "../../a2a/call.js";
import { A2AError } from "../../a2a/errors.js";
import type { Handler } from "../../a2a/handler.js";
import type { Operation, OperationKey } from "../../a2a/operation.js";
import { isObject } from "../../a2a/unknown-json.js";
import { v1 } from "../../a2a/v1.js";
import {
  createWireHandler,
  type Exchange,
  errorOfBareAnswer,
  exchange,
  invalidAnswer,
  isEventStream,
  readAnswer,
  type WireClientOptions,
} from "../client.js";
import { A2A_JSON, JSON_TYPE } from "../media-type.js";
import { readEvents } from "../read-events.js";
import { HttpAnswer, readPeerError, reasonOfStatus } from "../wire-error.js";
import { pathOf, type Route, routesOf } from "./http-rule.js";

/** A Handler that speaks HTTP+JSON (§11): the mirror of the binding, by the same rules. */
export function createHttpJsonClient(options: WireClientOptions): Handler {
  const version = options.version ?? v1;
  const routes = new Map<OperationKey, readonly Route[]>(
    version.operations.map((operation) => [operation.key, routesOf(operation)]),
  );
  const accept = `${A2A_JSON}, ${JSON_TYPE}`;

  /** The routes that can carry a request: those of its tenant if it names one. */
  function routesFor(operation: Operation, json: JsonObject): readonly Route[] {
    const all = routes.get(operation.key) ?? [];
    const fitting = all.filter(({ tenant }) => tenant === Boolean(json.tenant));
    return fitting.length > 0 ? fitting : all;
  }

  function open(
    route: Route,
    json: JsonObject,
    accepted: string,
    call: Call,
    released?: AbortSignal,
  ): Promise<Exchange> {
    const { target, body } = requestOf(route, json);
    const sent = {
      url: join(options.url, target),
      method: route.method,
      accept: accepted,
      body,
      contentType: body === undefined ? undefined : A2A_JSON,
    };
    return exchange(options, version.id, sent, call, released);
  }

  async function errorOf(opened: Exchange, call: Call): Promise<A2AError> {
    try {
      const { json, cause } = await readAnswer(opened, options, call);
      return cause.status >= 200 && cause.status < 300
        ? invalidAnswer("a stream was asked for", cause)
        : readError(json, cause);
    } finally {
      opened.release();
    }
  }

  return createWireHandler(version, {
    async unary(operation, request, call) {
      const json = operation.writeRequest(request) as JsonObject;
      const [route] = routesFor(operation, json);
      if (route === undefined) throw new A2AError("UNSUPPORTED_OPERATION", `${operation.name} has no HTTP route`);
      const opened = await open(route, json, accept, call);
      try {
        const { json: answer, cause } = await readAnswer(opened, options, call);
        if (!opened.response.ok) throw readError(answer, cause);
        if (operation.output.fields.length === 0) return operation.readResponse({}); // some answer a DELETE with 204
        if (!isObject(answer)) throw errorOfBareAnswer(cause);
        return operation.readResponse(answer);
      } finally {
        opened.release();
      }
    },
    async *stream(operation, request, call, released) {
      const json = operation.writeRequest(request) as JsonObject;
      const fitting = routesFor(operation, json);
      for (const [index, route] of fitting.entries()) {
        const opened = await open(route, json, `text/event-stream, ${accept}`, call, released);
        if (isEventStream(opened.response)) {
          yield* readEvents(opened, operation, unwrap, options, call);
          return;
        }
        const error = await errorOf(opened, call);
        if (index === fitting.length - 1 || !isMissingRoute(error)) throw error;
      }
    },
  });
}

/** What goes into the path, the query and the body. @throws A2AError INVALID_PARAMS for what a path or a query can't carry. */
export function requestOf(
  route: Route,
  json: JsonObject,
): { readonly target: string; readonly body: string | undefined } {
  const rest = { ...json };
  const path = pathOf(route, (name) => {
    const key = route.operation.input.fields.find((field) => field.name === name)?.jsonName ?? name;
    const value = rest[key];
    delete rest[key];
    return typeof value === "string" ? value : "";
  });
  if (path === undefined) throw new A2AError("INVALID_PARAMS", "An id of this request can't be part of a path");
  if (route.body) return { target: path, body: Object.keys(rest).length === 0 ? undefined : JSON.stringify(rest) };

  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === "object") throw new A2AError("INVALID_PARAMS", `${name} can't be part of a query`);
      query.append(name, String(item));
    }
  }
  return { target: query.size === 0 ? path : `${path}?${query}`, body: undefined };
}

/** An interface's URL may end with a slash, and may have a query of its own. */
export function join(base: string, target: string): string {
  const [path = "", query] = base.split("?", 2);
  const joined = `${path.replace(/\/+$/, "")}${target}`;
  return query === undefined ? joined : `${joined}${target.includes("?") ? "&" : "?"}${query}`;
}

/** A server that has the other method for this path, or only the other path. */
function isMissingRoute({ cause, reason }: A2AError): boolean {
  if (!(cause instanceof HttpAnswer)) return false;
  return cause.status === 405 || cause.status === 501 || (cause.status === 404 && reason === "METHOD_NOT_FOUND");
}

/** An event is a response, or the error that ended the stream. */
function unwrap(json: unknown, cause: HttpAnswer): unknown {
  if (isObject(json) && isObject(json.error)) throw readError(json, cause);
  return json;
}

/** The error of an answer: `google.rpc.Status` below `error` (§11.6), or bare, or in whatever shape has at least a text. */
function readError(json: unknown, cause: HttpAnswer): A2AError {
  const { code, status, message, detail, title, details } = isObject(json)
    ? isObject(json.error)
      ? json.error
      : json
    : {};
  const text = [message, detail, title].find((candidate) => typeof candidate === "string");
  if (text === undefined && details === undefined) return errorOfBareAnswer(cause);
  const http = cause.status >= 400 ? cause.status : typeof code === "number" && code >= 400 && code < 600 ? code : 500;
  const otherwise = http === 400 && status === "INVALID_ARGUMENT" ? "INVALID_PARAMS" : reasonOfStatus(http);
  return readPeerError({ message: typeof text === "string" ? text : undefined, details, otherwise }, cause);
}
