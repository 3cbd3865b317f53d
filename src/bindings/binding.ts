import type { JsonValue } from "@bufbuild/protobuf";
import type { Principal } from "../a2a/call.js";
import type { Handler } from "../a2a/handler.js";
import type { ProtocolVersion } from "../a2a/protocol-version.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";

/** What a server half needs: the handler, and what is the same for every wire. */
export interface BindingContext {
  readonly handler: Handler;
  readonly versions: readonly ProtocolVersion[];
  /** Who is asking. @throws A2AError UNAUTHENTICATED, PERMISSION_DENIED. */
  authenticate(request: AuthRequest): Promise<Principal>;
  /** Values of `WWW-Authenticate` for a 401. */
  readonly challenges: readonly string[];
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Largest request body, in bytes. */
  readonly maxBodyBytes: number;
  /** Deepest nesting of a JSON body. */
  readonly maxDepth: number;
  /** Between two comments on a quiet event stream, in milliseconds. */
  readonly heartbeatMs: number;
  /** Aborts when the server drains: streams end at the next frame boundary. */
  readonly draining: AbortSignal;
}

/** What an authenticator sees. `original` is the host's own request. */
export interface AuthRequest<R = unknown> {
  readonly headers: Headers;
  readonly url: URL;
  readonly remoteAddress: string;
  readonly original: R;
}

/** A request of an HTTP binding, whichever host received it. The body is whole, and within its limit. */
export interface WireRequest {
  readonly method: string;
  /** Path below the binding's own, percent-encoded; begins with `/`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly auth: AuthRequest;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
}

/** An answer of an HTTP binding: a whole body, or an event stream whose frames are pulled as the socket takes them. */
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | AsyncIterable<string>;
}

/** The server half of an HTTP binding. Never throws: what fails is an answer in the binding's own shape. */
export type WireHandler = (request: WireRequest) => Promise<WireResponse>;

export type { JsonValue };
