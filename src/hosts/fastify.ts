import { setMaxListeners } from "node:events";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AuthRequest } from "../a2a/auth-request.js";
import { A2AError } from "../a2a/errors.js";
import type { WireRequest, WireResponse } from "../bindings/binding.js";
import { nothingHere, refusal } from "../bindings/http-json/status.js";
import { isHttp2 } from "../bindings/rpc-binding.js";
import { refusalOf } from "../bindings/wire-error.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import { basePathOf, locate, type MountedBindings } from "./binding-path.js";
import { headersOf, isGone, readHeaders, splitTarget } from "./http.js";
import { writeFrames } from "./write-frames.js";

/** What the routes of the bindings need. */
export interface BindingRoutesOptions extends MountedBindings {
  /** Largest request body, in bytes. */
  readonly maxBodyBytes: number;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

const NO_QUERY = new URLSearchParams();
const goneBySocket = new WeakMap<object, AbortSignal>();

/**
 * Mounts the bindings in a scope of its own: bodies arrive there as they were sent, and whatever fails is answered in the shape of the
 * binding whose path it is. Gives the answer for everything else.
 */
export function addBindings(
  app: FastifyInstance,
  options: BindingRoutesOptions,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const located = locate(options, splitTarget(request.raw.url ?? "/").path);
    if (located === undefined) return send(reply, nothingHere(readHeaders(request.raw)));
    return send(reply, await located.binding.handle(wireRequest(request, reply, located.path)));
  }

  app.register(async (scope) => {
    takeBodiesAsTheyAre(scope, options.maxBodyBytes);
    scope.setErrorHandler((error: FastifyError, request, reply) => {
      const located = locate(options, splitTarget(request.raw.url ?? "/").path);
      const refused = refusalOfFastify(error, options);
      const headers = readHeaders(request.raw);
      return sendRefusal(reply, located?.binding.refuse(refused, headers) ?? refusal(refused, headers));
    });
    const base = basePathOf(options);
    if (options.jsonRpc !== undefined)
      for (const url of new Set([base || "/", `${base}/`])) scope.all(url, { exposeHeadRoute: false }, answer);
    if (options.httpJson !== undefined) scope.all(`${base}/*`, { exposeHeadRoute: false }, answer);
  });
  return answer;
}

function wireRequest(request: FastifyRequest, reply: FastifyReply, path: string): WireRequest {
  const { raw } = request;
  const headers = readHeaders(raw);
  const { query } = splitTarget(raw.url ?? "/");
  return {
    method: request.method,
    path,
    query: query === "" ? NO_QUERY : new URLSearchParams(query),
    headers,
    body: request.body instanceof Uint8Array ? request.body : new Uint8Array(),
    auth: new FastifyAuthRequest(request),
    signal: goneSignal(reply),
  };
}

/** Made when an authenticator looks. (A class, for getters in an object literal give each object a shape of its own.) */
class FastifyAuthRequest implements AuthRequest<FastifyRequest> {
  readonly original: FastifyRequest;

  constructor(original: FastifyRequest) {
    this.original = original;
  }

  get headers(): Headers {
    return headersOf(this.original.raw);
  }

  get url(): URL {
    return urlOf(this.original);
  }

  get remoteAddress(): string {
    return this.original.ip;
  }
}

/** A caller may send any Host; one that is no host is none. */
function urlOf({ protocol, host, raw }: FastifyRequest): URL {
  const { path, query } = splitTarget(raw.url ?? "/");
  const target = query === "" ? path : `${path}?${query}`;
  return URL.canParse(`${protocol}://${host}${target}`)
    ? new URL(`${protocol}://${host}${target}`)
    : new URL("http://unknown.invalid/");
}

/**
 * Aborts when the caller has gone: the *response* closes before it is finished. (The request closes as soon as its body is read; and a
 * reset HTTP/2 stream calls itself finished, so that it must have been ended as well.) On HTTP/1.1 that is when the connection closes, and
 * one signal serves all of its requests, which come one after the other: making a signal is among the dearest things here.
 */
function goneSignal({ raw: response }: FastifyReply): AbortSignal {
  const socket = isHttp2(response) ? undefined : response.socket;
  const known = socket ? goneBySocket.get(socket) : undefined;
  if (known !== undefined) return known;
  const controller = new AbortController();
  if (socket) {
    goneBySocket.set(socket, controller.signal);
    setMaxListeners(0, controller.signal);
    socket.once("close", () => controller.abort());
  } else {
    response.once("close", () => {
      if (!response.writableEnded || !response.writableFinished) controller.abort();
    });
  }
  if (isGone(response)) controller.abort();
  return controller.signal;
}

/** Sends what a binding answered. */
export async function send(reply: FastifyReply, { status, headers, body }: WireResponse): Promise<FastifyReply> {
  // Not by Fastify: it would add a charset, which JSON's media types don't have.
  reply.hijack();
  reply.raw.statusCode = status;
  const set = reply.getHeaders();
  for (const name in set) if (set[name] !== undefined) reply.raw.setHeader(name, set[name]);
  for (const name in headers) reply.raw.setHeader(name, headers[name] ?? "");
  if (typeof body === "string") {
    // A text goes out in one piece with its headers.
    if (body !== "") reply.raw.setHeader("content-length", Buffer.byteLength(body));
    reply.raw.end(body);
    return reply;
  }
  await writeFrames(body, reply.raw);
  return reply;
}

/** Sends a refusal. Fastify would close at once for some, and the reset would overtake the answer while the caller still sends. */
export function sendRefusal(reply: FastifyReply, response: WireResponse): Promise<FastifyReply> {
  reply.removeHeader("connection");
  return send(reply, response);
}

/** No parser of Fastify's comes between: it would judge a body before its binding does, and in words of its own. */
export function takeBodiesAsTheyAre(app: FastifyInstance, maxBytes: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: maxBytes }, (_request, body, done) => done(null, body));
}

/** What goes on the wire for what Fastify caught: its own findings about a request, or whatever a route threw. */
export function refusalOfFastify(error: FastifyError, at: Pick<BindingRoutesOptions, "runtime" | "logger">): A2AError {
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new A2AError("REQUEST_TOO_LARGE");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new A2AError("CONTENT_TYPE_NOT_SUPPORTED");
    default:
      return error.statusCode !== undefined && error.statusCode < 500
        ? new A2AError("INVALID_REQUEST", undefined, { cause: error })
        : refusalOf(error, at);
  }
}
