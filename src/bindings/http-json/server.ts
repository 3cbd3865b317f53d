import { A2AError } from "../../a2a/errors.js";
import type { ProtocolVersion } from "../../a2a/protocol-version.js";
import {
  type BindingContext,
  callOf,
  echoOf,
  invoke,
  type RequestHeaders,
  startStream,
  type WireBinding,
  type WireRequest,
  type WireResponse,
} from "../binding.js";
import { parseJson } from "../json.js";
import { A2A_JSON, acceptedType, JSON_TYPE, mediaTypeOf } from "../media-type.js";
import { readOrRefused } from "../read-or-refused.js";
import { negotiateVersion, readServiceParameters } from "../service-parameters.js";
import { type EventWriter, eventFrames, streamHeaders } from "../sse.js";
import { refusalOf } from "../wire-error.js";
import { createRouter, type Match, routesOf } from "./http-rule.js";
import { readHttpRequest, tenantOf } from "./request.js";
import { refusal, statusText } from "./status.js";

/** An answer is its caller's alone, and may be another a moment later: no cache keeps a GET. */
const PRIVATE = { "cache-control": "private, no-store" };

/** The HTTP+JSON binding (§11): the routes of the descriptor, below one path. */
export function createHttpJsonBinding(context: BindingContext): WireBinding {
  const routers = context.versions.map((version) => {
    const routes = version.operations.flatMap(routesOf);
    const plain = routes.filter(({ tenant }) => !tenant);
    const ofTenants = context.tenants === true ? routes.filter(({ tenant }) => tenant) : [];
    return { version, find: createRouter([...plain, ...ofTenants]) };
  });

  /** The routes of a path by version. */
  function find(path: string): { readonly version: ProtocolVersion; readonly matches: readonly Match[] }[] {
    return routers
      .map(({ version, find: matchesOf }) => ({ version, matches: matchesOf(path) }))
      .filter(({ matches }) => matches.length > 0);
  }

  /** The one route that is meant. @throws A2AError METHOD_NOT_FOUND (404), METHOD_NOT_ALLOWED (405), and those of the version. */
  function route({ method, path, headers, query }: WireRequest): Match {
    const found = find(path);
    const [any] = found;
    if (any === undefined) throw new A2AError("METHOD_NOT_FOUND", "There is nothing at this path");
    const version = negotiateVersion(headers, query, context.versions);
    const matches = found.find((candidate) => candidate.version === version)?.matches;
    if (matches === undefined)
      throw new A2AError(
        "METHOD_NOT_FOUND",
        `This is a path of A2A ${any.version.id}, and the request says ${version.id}`,
      );
    const match = matches.find((candidate) => candidate.route.method === method);
    if (match !== undefined) return match;
    const allowed = [...new Set(matches.map((candidate) => candidate.route.method))].join(", ");
    throw new A2AError("METHOD_NOT_ALLOWED", `Only ${allowed} is answered here`, { metadata: { allow: allowed } });
  }

  function bodyOf({ headers, body }: WireRequest): unknown {
    if (body.length === 0) return undefined;
    const type = mediaTypeOf(headers);
    if (type !== JSON_TYPE && type !== A2A_JSON)
      throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", `The content type must be ${A2A_JSON} or ${JSON_TYPE}`);
    return parseJson(body, context.maxDepth);
  }

  async function answer(request: WireRequest): Promise<WireResponse> {
    const { headers, query, auth, signal } = request;
    const match = route(request);
    if (context.draining.aborted) throw new A2AError("DRAINING");
    const principal = await context.authenticate(auth); // before the body costs anything
    const { operation, body } = match.route;
    const content = body ? bodyOf(request) : undefined;
    const message = readOrRefused(context, operation, headers, {
      read: () => readHttpRequest(match, query, content),
      raw: () => ({ tenant: tenantOf(match, query, content) }),
    });
    const call = callOf(message, principal, readServiceParameters(headers), signal);
    if (!operation.streaming) {
      const result = operation.writeResponse(await invoke(context.handler, operation, message, call));
      return {
        status: 200,
        // What is spread comes last: added behind a spread, a member gives each object a shape of its own (in V8).
        headers: { "content-type": acceptedType(headers), ...PRIVATE, ...echoOf(context, call) },
        body: JSON.stringify(result),
      };
    }
    const stream = await startStream(context.handler, operation, message, call);
    const writer: EventWriter = {
      event: (event) => JSON.stringify(operation.writeResponse(event)),
      error: (thrown) => statusText(refusalOf(thrown, context, signal)),
    };
    const sent = { ...streamHeaders, ...echoOf(context, call) };
    return { status: 200, headers: sent, body: eventFrames(stream, writer, context, signal) };
  }

  function refuse(error: A2AError, headers: RequestHeaders): WireResponse {
    const refused = refusal(error, headers, context.challenges);
    return { ...refused, headers: { ...PRIVATE, ...refused.headers } };
  }

  return {
    handle: (request) =>
      answer(request).catch((thrown: unknown) => refuse(refusalOf(thrown, context, request.signal), request.headers)),
    refuse,
  };
}
