import type { EventEmitter } from "node:events";
import { createServer as createHttp1Server, type Server } from "node:http";
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from "node:net";
import type { Duplex } from "node:stream";
import type { TlsOptions } from "node:tls";
import { type AnyRequest, type AnyResponse, isHttp2 } from "../bindings/rpc-binding.js";
import type { Runtime, Timer } from "../runtime/runtime.js";
import { answerClientError, answerConnect, NO_TUNNEL, refuse } from "./client-error.js";
import { refuseWhenLate } from "./late-body.js";
import { destroyWhenDead } from "./live-session.js";
import { createOpenResponses, type OpenResponses } from "./open-responses.js";

/** Who answers, and how long connections may take. Times are milliseconds. */
export interface OnePortOptions {
  readonly onRequest: (request: AnyRequest, response: AnyResponse) => void;
  readonly runtime: Runtime;
  /** Key, certificate and the like: then both versions are offered by ALPN. Default: clear text, told apart by the first bytes. */
  readonly tls?: TlsOptions | undefined;
  /** For the first bytes of a connection, a TLS handshake, and the settings of an HTTP/2 session. Default 10 000. */
  readonly openingTimeoutMs?: number | undefined;
  /** For the headers of an HTTP/1.1 request. Default 30 000. */
  readonly headersTimeoutMs?: number | undefined;
  /** For the whole of a request, its body included; an answer may take as long as it likes. Default 300 000. */
  readonly requestTimeoutMs?: number | undefined;
  /** How long an HTTP/2 connection may be silent before it is asked whether it lives. Default 60 000. */
  readonly pingIntervalMs?: number | undefined;
}

/** One listening port for HTTP/1.1 and HTTP/2. */
export interface OnePort {
  /** Resolves with the port, which is a free one for 0. */
  listen(address: { readonly port: number; readonly host: string }): Promise<number>;
  /**
   * Stops accepting, lets what is open end, and destroys at the deadline what hasn't. Connections that are open may still ask until
   * then, and are told to go away with the answer. Once more: the earlier deadline counts.
   */
  drain(deadlineMs: number): Promise<void>;
}

/** The first bytes of an HTTP/2 connection with prior knowledge (RFC 9113 §3.4). */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
/** Longer than the idle time of the usual load balancers, so that they close and not we. */
const KEEP_ALIVE_MS = 72_000;
/** A dead peer is noticed by the kernel. */
const TCP_KEEP_ALIVE_MS = 60_000;
const MAX_STREAMS_PER_SESSION = 1_000;
/** For the last bytes of answers that have ended, and for HTTP/2's goodbye. */
const LINGER_MS = 200;

/** Serves both HTTP versions on one port, in clear text or with TLS. */
export function createOnePort(options: OnePortOptions): OnePort {
  const { runtime } = options;
  const times = timesOf(options);
  const responses = createOpenResponses(runtime);
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let closed: Promise<void> | undefined;

  const onRequest = (request: AnyRequest, response: AnyResponse) => {
    responses.add(request, response);
    if (isHttp2(response)) refuseWhenLate(request as Http2ServerRequest, response, runtime, times.requestTimeoutMs);
    if (closed !== undefined && request.httpVersionMajor === 1) response.setHeader("connection", "close");
    options.onRequest(request, response);
  };
  const onSession = (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (closed !== undefined) session.close();
    const timer = runtime.after(times.openingTimeoutMs, () => session.destroy());
    session.once("remoteSettings", () => timer.cancel());
    session.once("close", () => timer.cancel());
    destroyWhenDead(session, runtime, options.pingIntervalMs);
  };
  const onSocket = (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
  };
  const onConnect = (request: AnyRequest, to: Duplex | Http2ServerResponse) => {
    if ("stream" in to) refuse(request as Http2ServerRequest, to, NO_TUNNEL, runtime);
    else answerConnect(to, responses.has(to), runtime);
  };
  const parts = { runtime, times, responses, events: { onRequest, onConnect, onSession } };
  const server = options.tls === undefined ? clearServer(parts) : secureServer(parts, options.tls);
  server.front.on("connection", onSocket);
  server.front.on("secureConnection", onSocket);

  function stopAccepting(): Promise<void> {
    runtime.at("drain");
    for (const session of sessions) session.close();
    return new Promise((resolve) => {
      server.front.close(() => resolve());
    });
  }

  function destroyAll(): void {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  }

  async function drain(deadlineMs: number): Promise<void> {
    closed ??= stopAccepting();
    const allEnded = await responses.ended(deadlineMs);
    server.closeIdle();
    if (!allEnded) destroyAll();
    const timer = runtime.after(LINGER_MS, destroyAll);
    await closed.finally(() => timer.cancel());
    server.stop();
  }

  return {
    listen: ({ port, host }) =>
      new Promise((resolve, reject) => {
        server.front.once("error", reject);
        server.front.listen(port, host, () => {
          server.front.off("error", reject);
          resolve((server.front.address() as AddressInfo).port);
        });
      }),
    drain,
  };
}

interface Parts {
  readonly runtime: Runtime;
  readonly times: ReturnType<typeof timesOf>;
  readonly responses: OpenResponses;
  readonly events: ServerEvents;
}

function timesOf({ openingTimeoutMs = 10_000, headersTimeoutMs = 30_000, requestTimeoutMs = 300_000 }: OnePortOptions) {
  // Node doesn't take headers that may come later than the whole.
  return { openingTimeoutMs, requestTimeoutMs, headersTimeoutMs: Math.min(headersTimeoutMs, requestTimeoutMs) };
}

interface Listening {
  readonly front: TcpServer;
  /** Closes the HTTP/1.1 connections on which nothing is going on, where closing the front hasn't. */
  closeIdle(): void;
  stop(): void;
}

/** A TCP server that hands each connection to the HTTP server whose version it speaks; neither of these listens itself. */
function clearServer({ runtime, times, responses, events }: Parts): Listening {
  const http1 = createHttp1Server({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: times.headersTimeoutMs,
    requestTimeout: times.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(times.headersTimeoutMs, 5_000),
  });
  allowHalfOpen(http1);
  observe(http1, events);
  http1.on("clientError", (error, socket) => answerClientError(error, socket, responses.has(socket)));
  http1.emit("listening"); // starts the check of its time-outs, which otherwise only listening does
  const http2 = createHttp2Server({ settings: { maxConcurrentStreams: MAX_STREAMS_PER_SESSION } });
  observe(http2, events);

  const front = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const timer = runtime.after(times.openingTimeoutMs, () => socket.destroy());
    socket.once("close", () => timer.cancel());
    handOver(socket, timer, http1, http2, responses);
  });
  return { front, closeIdle: () => http1.closeIdleConnections(), stop: () => http1.close() };
}

/** Reads until it is clear which version a connection speaks: a whole preface, or a byte that differs from it. */
function handOver(socket: Socket, timer: Timer, http1: Server, http2: Http2Server, responses: OpenResponses): void {
  let read = Buffer.alloc(0);
  const onEnd = () => socket.destroy();
  const onData = (chunk: Buffer) => {
    read = Buffer.concat([read, chunk]);
    const compared = Math.min(read.length, PREFACE.length);
    const same = read.subarray(0, compared).equals(PREFACE.subarray(0, compared));
    if (same && compared < PREFACE.length) return;
    timer.cancel();
    socket.off("data", onData);
    socket.off("end", onEnd);
    socket.pause();
    socket.unshift(read);
    if (same) {
      socket.allowHalfOpen = false; // what has no more to say in HTTP/2 can't be answered either
      http2.emit("connection", socket);
    } else {
      socket.once("end", () => responses.probe(socket));
      http1.emit("connection", socket);
      socket.resume();
    }
  };
  socket.on("data", onData);
  socket.once("end", onEnd);
}

/** TLS: ALPN says the version; without it, HTTP/1.1. */
function secureServer({ times, responses, events }: Parts, tls: TlsOptions): Listening {
  const front: Http2SecureServer = createSecureServer({
    ...tls,
    allowHTTP1: true,
    handshakeTimeout: times.openingTimeoutMs,
    settings: { maxConcurrentStreams: MAX_STREAMS_PER_SESSION },
  });
  Object.assign(front, {
    headersTimeout: times.headersTimeoutMs,
    requestTimeout: times.requestTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  observe(front, events);
  front.on("tlsClientError", (_error, socket) => socket.destroy());
  front.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) =>
    answerClientError(error, socket, responses.has(socket)),
  );
  return { front, closeIdle: () => undefined, stop: () => undefined };
}

/** What any server of either version says. */
interface ServerEvents {
  readonly onRequest: OnePortOptions["onRequest"];
  /** CONNECT comes with its connection over HTTP/1.1, and with its response over HTTP/2. */
  readonly onConnect: (request: AnyRequest, to: Duplex | Http2ServerResponse) => void;
  readonly onSession: (session: ServerHttp2Session) => void;
}

function observe(server: EventEmitter, { onRequest, onConnect, onSession }: ServerEvents): void {
  server.on("request", onRequest);
  server.on("checkExpectation", onRequest); // Node's own 417 has no body, and over HTTP/2 leaves the request's unread
  server.on("connect", onConnect);
  server.on("session", onSession);
}

/** A caller may close its half after the request and still wait for the answer. The property is older than its types. */
function allowHalfOpen(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}
