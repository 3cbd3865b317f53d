import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TlsOptions } from "node:tls";
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { A2AError } from "../a2a/errors.js";
import { refusal } from "../bindings/http-json/status.js";
import type { AnyRequest, AnyResponse, RpcBinding } from "../bindings/rpc-binding.js";
import {
  addBindings,
  type BindingRoutesOptions,
  refusalOfFastify,
  sendRefusal,
  takeBodiesAsTheyAre,
} from "./fastify.js";
import { createForwardedOrigin } from "./forwarded.js";
import { readHeaders, splitTarget } from "./http.js";
import { createOnePort, type OnePortOptions } from "./one-port.js";
import { createPublicAnswers, type PublicAnswersOptions } from "./public-answers.js";
import { addCardRoutes, addHealthRoutes } from "./public-routes.js";

/** What the host carries, and how. */
export interface HostOptions
  extends BindingRoutesOptions,
    PublicAnswersOptions,
    Omit<OnePortOptions, "onRequest" | "tls"> {
  readonly rpc?: RpcBinding | undefined;
  /** Aborted by `drain`; the bindings were given its signal. */
  readonly draining: AbortController;
  readonly tls?: TlsOptions | undefined;
  /** Whose `X-Forwarded-*` are believed: addresses or networks. Default: nobody's. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Mounts more routes: metrics, keys, a console. */
  routes?: ((app: FastifyInstance) => void) | undefined;
}

/** All bindings on one port. */
export interface Host {
  /** Listens, and resolves with the port, which is a free one for 0. @throws the system's error if it can't. */
  listen(address: { readonly port: number; readonly host: string }): Promise<{ readonly port: number }>;
  /**
   * Stops accepting, refuses new requests as DRAINING, ends event streams at the next frame, waits for what else is open, and destroys it
   * at the deadline. After that nothing keeps the process alive. May be called again with less time.
   */
  drain(deadlineMs: number): Promise<void>;
  /** Drains with no time to spare. */
  close(): Promise<void>;
}

/** A year of HTTPS only, once a caller has come by it (§13.4, RFC 6797). */
const TLS_ONLY = "max-age=31536000";

/** Builds the server: one Fastify instance behind both HTTP versions. */
export async function createHost(options: HostOptions): Promise<Host> {
  setMaxListeners(0, options.draining.signal); // each open stream is one
  const app = fastify({
    forceCloseConnections: false,
    exposeHeadRoutes: false,
    trustProxy: options.trustedProxies === undefined ? false : [...options.trustedProxies],
    routerOptions: { maxParamLength: Number.MAX_SAFE_INTEGER },
    frameworkErrors: (error, request, reply) =>
      refuse(new A2AError("INVALID_REQUEST", "The URL is malformed", { cause: error }), request, reply),
  });
  takeBodiesAsTheyAre(app, options.maxBodyBytes);
  app.setErrorHandler((error: FastifyError, request, reply) =>
    refuse(refusalOfFastify(error, options), request, reply),
  );
  app.setNotFoundHandler(addBindings(app, options));
  const answers = createPublicAnswers(options);
  addCardRoutes(app, answers, createForwardedOrigin(options.trustedProxies ?? []));
  addHealthRoutes(app, answers, options.draining.signal);
  options.routes?.(app);
  await app.ready();

  const port = createOnePort({
    ...options,
    onRequest(request, response) {
      if (options.tls !== undefined && !isLocal(request)) response.setHeader("strict-transport-security", TLS_ONLY);
      const { path } = splitTarget(request.url ?? "/");
      if (options.rpc?.owns(path) === true) options.rpc.handle(request, response);
      else app.routing(...asHttp1(request, response));
    },
  });

  async function drain(deadlineMs: number): Promise<void> {
    options.draining.abort();
    await port.drain(deadlineMs);
    await app.close(); // last: from here on Fastify would answer in words of its own
  }
  return {
    listen: async (address) => ({ port: await port.listen(address) }),
    drain,
    close: () => drain(0),
  };
}

function refuse(error: A2AError, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  return sendRefusal(reply, refusal(error, readHeaders(request.raw)));
}

/** Whoever develops on `localhost` has other servers there, which may speak no TLS. */
function isLocal({ headers, authority }: AnyRequest & { readonly authority?: string }): boolean {
  return /^localhost(:|$)/i.test(authority ?? headers.host ?? "");
}

/** Fastify serves HTTP/2's compatible objects as they are; only its types know one version at a time. */
function asHttp1(request: AnyRequest, response: AnyResponse): [IncomingMessage, ServerResponse] {
  return [request as IncomingMessage, response as ServerResponse];
}
