import type { Message } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  type Http2SessionManager,
} from "@connectrpc/connect-node";
import type { Call } from "../../a2a/call.js";
import type { Handler } from "../../a2a/handler.js";
import type { OperationKey } from "../../a2a/operation.js";
import { A2AService } from "../../a2a/types.js";
import { v1 } from "../../a2a/v1.js";
import { createWireHandler, DEFAULT_MAX_ANSWER_BYTES } from "../client.js";
import { linkedController } from "../linked-controller.js";
import { writeServiceParameters } from "../service-parameters.js";
import { fromConnectError } from "./errors.js";
import { createSessions, onceMore, type Ping } from "./sessions.js";

/** Often enough to notice that a peer is gone, seldom enough for servers that count pings. */
const PING: Ping = { intervalMs: 300_000, timeoutMs: 15_000 };

/** Whom to call, and in which of the three protocols. */
export interface GrpcClientOptions {
  /** `host:port` (http on loopback, else https), or a URL with its scheme. */
  readonly url: string;
  readonly protocol: "grpc" | "grpc-web" | "connect";
  /** More metadata for each call, such as credentials. It wins over that of the binding. */
  headers?: ((call: Call) => Record<string, string> | Promise<Record<string, string>>) | undefined;
  /** Largest message that is read, in bytes. Default 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Over gRPC. Default: after five minutes of silence, and 15 seconds for the answer. */
  readonly ping?: Ping | undefined;
}

/** A Handler that speaks gRPC, gRPC-Web or Connect, and its connection. */
export interface GrpcClient {
  /** Rejects with A2AError; with the signal's reason if that aborts. A stream that isn't read to its end is cancelled. */
  readonly handler: Handler;
  /** Closes the connection; what is under way fails. */
  close(): void;
}

/** The client half of the gRPC binding (§10). Connects at the first call, and again when the connection is lost. */
export function createGrpcClient(options: GrpcClientOptions): GrpcClient {
  const baseUrl = baseUrlOf(options.url);
  const sessions = options.protocol === "grpc" ? createSessions(baseUrl, options.ping ?? PING) : undefined;
  const invoke = invokerOf(transportOf(options, baseUrl, sessions));
  const headersOf = async (call: Call) => ({
    ...writeServiceParameters(call, v1.id),
    ...(await options.headers?.(call)),
  });

  const handler = createWireHandler(v1, {
    async unary({ key }, request, call) {
      call.signal?.throwIfAborted();
      try {
        const headers = await headersOf(call);
        const sent = addressed(request, call);
        return await onceMore(() => invoke(key, sent, { signal: call.signal, headers }) as Promise<Message>);
      } catch (thrown) {
        throw failureOf(thrown, call, baseUrl);
      }
    },
    async *stream({ key }, request, call, released) {
      call.signal?.throwIfAborted();
      // Whoever stops reading stops the call: leaving Connect's iterator would only stop the reading.
      const { controller, unlink } = linkedController(call.signal, released);
      try {
        const headers = await headersOf(call);
        const sent = addressed(request, call);
        const [first, rest] = await onceMore(async () => {
          const answer = invoke(key, sent, { signal: controller.signal, headers }) as AsyncIterable<Message>;
          const events = answer[Symbol.asyncIterator]();
          return [await events.next(), events] as const;
        });
        for (let step = first; step.done !== true; step = await rest.next()) yield step.value;
      } catch (thrown) {
        throw failureOf(thrown, call, baseUrl);
      } finally {
        unlink();
      }
    },
  });
  return { handler, close: () => sessions?.abort() };
}

type Invoke = (
  key: OperationKey,
  request: Message,
  options: InvokeOptions,
) => Promise<Message> | AsyncIterable<Message>;
interface InvokeOptions {
  readonly signal: AbortSignal | undefined;
  readonly headers: Record<string, string>;
}

/** Connect types a client method by method; here they are all alike. */
function invokerOf(transport: Transport): Invoke {
  const client = createClient(A2AService, transport) as unknown as Record<
    OperationKey,
    (request: Message, options: InvokeOptions) => ReturnType<Invoke>
  >;
  return (key, request, options) => client[key](request, options);
}

function failureOf(thrown: unknown, { signal }: Call, url: string): unknown {
  return signal?.aborted === true ? signal.reason : fromConnectError(thrown, url);
}

/** On this wire a tenant travels in the request. */
function addressed(request: Message, { tenant }: Call): Message {
  const addressee = request as Message & { readonly tenant?: string };
  return tenant === undefined || addressee.tenant !== "" ? request : Object.assign({ ...request }, { tenant });
}

function transportOf(
  { protocol, maxMessageBytes = DEFAULT_MAX_ANSWER_BYTES }: GrpcClientOptions,
  baseUrl: string,
  sessionManager: Http2SessionManager | undefined,
): Transport {
  const common = { baseUrl, readMaxBytes: maxMessageBytes, useBinaryFormat: true };
  switch (protocol) {
    case "grpc":
      return createGrpcTransport({ ...common, ...(sessionManager === undefined ? {} : { sessionManager }) });
    case "grpc-web":
      return createGrpcWebTransport({ ...common, httpVersion: "1.1" });
    case "connect":
      return createConnectTransport({ ...common, httpVersion: "1.1" });
  }
}

/** The URL that an interface's address means. @throws TypeError for what is neither `host:port` nor a URL. */
export function baseUrlOf(url: string): string {
  if (/^https?:\/\//i.test(url)) return url;
  const { hostname } = new URL(`https://${url}`);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  return `${isLoopback ? "http" : "https"}://${url}`;
}
