import type { Message } from "@bufbuild/protobuf";
import type { AuthRequest } from "../a2a/auth-request.js";
import type { Call, Principal } from "../a2a/call.js";
import { A2AError } from "../a2a/errors.js";
import type { Handler } from "../a2a/handler.js";
import type { Operation } from "../a2a/operation.js";
import type { ProtocolVersion } from "../a2a/protocol-version.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import { untilAborted } from "../runtime/until-aborted.js";
import { EXTENSIONS_HEADER, type ServiceParameters } from "./service-parameters.js";

/** What a server half needs: the handler, and what is the same for every wire. */
export interface BindingContext {
  readonly handler: Handler;
  readonly versions: readonly ProtocolVersion[];
  /** Who is asking. @throws A2AError UNAUTHENTICATED, PERMISSION_DENIED. */
  authenticate(request: AuthRequest): Promise<Principal>;
  /** Values of `WWW-Authenticate` for a 401. */
  readonly challenges: readonly string[];
  /** Whether a path may name a tenant (`/{tenant}/…`); which ones there are is the handler's to say. Default: no, and no such route. */
  readonly tenants?: boolean | undefined;
  /** The extensions on the card of a tenant's agent, which an answer says that it has activated. Default: none. */
  readonly extensionsOf?: ((tenant: string) => ReadonlySet<string>) | undefined;
  /**
   * What a tenant's agent refuses whatever the request says (§3.3.4): told before what is wrong with a request that can't be read. The
   * handler refuses the others. Default: nothing.
   */
  readonly refuses?:
    | ((tenant: string, operation: keyof Handler, extensions: readonly string[]) => A2AError | undefined)
    | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Largest request body, in bytes. */
  readonly maxBodyBytes: number;
  /** Deepest nesting of a JSON body. */
  readonly maxDepth: number;
  /** Between two comments on a quiet event stream, in milliseconds. */
  readonly heartbeatMs: number;
  /** Aborts when the server drains: streams end at the next frame boundary, new requests are DRAINING. */
  readonly draining: AbortSignal;
}

/** The headers of a request, as far as a binding looks at them. `Headers` is one; making it of Node's costs more than reading them. */
export type RequestHeaders = Pick<Headers, "get" | typeof Symbol.iterator>;

/** A request of an HTTP binding, whichever host received it. The body is whole, and within its limit. */
export interface WireRequest {
  readonly method: string;
  /** Path below the binding's own, percent-encoded; begins with `/`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: RequestHeaders;
  readonly body: Uint8Array;
  readonly auth: AuthRequest;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
}

/** An answer of an HTTP binding: a whole body, or an event stream whose frames are pulled as the socket takes them. */
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string>;
}

/** The server half of an HTTP binding. Neither function throws: what fails is an answer in the binding's own shape. */
export interface WireBinding {
  handle(request: WireRequest): Promise<WireResponse>;
  /** The answer to what never became a request: too large, unreadable, at no known path. */
  refuse(error: A2AError, headers: RequestHeaders): WireResponse;
}

/** The Call of a request that a wire has read. */
export function callOf(
  request: Message,
  principal: Principal,
  parameters: ServiceParameters,
  signal: AbortSignal,
): Call {
  const { tenant } = request as Message & { readonly tenant?: string }; // every request of the contract may name one
  const { all, extensions, after } = parameters;
  return { principal, tenant: tenant === "" ? undefined : tenant, parameters: all, extensions, after, signal };
}

/** The service parameters of an answer: which of the extensions that the caller named are activated (§3.2.6, §4.6). */
export function echoOf({ extensionsOf }: BindingContext, call: Call): Readonly<Record<string, string>> {
  const { extensions = [], tenant = "" } = call;
  if (extensions.length === 0 || extensionsOf === undefined) return NO_PARAMETERS;
  const declared = extensionsOf(tenant);
  const activated = extensions.filter((uri) => declared.has(uri));
  return activated.length === 0 ? NO_PARAMETERS : { [EXTENSIONS_HEADER]: activated.join(", ") };
}

const NO_PARAMETERS: Readonly<Record<string, string>> = {};

/** Calls a unary operation. @throws what the handler throws; the signal's reason as soon as the caller has gone. */
export async function invoke(handler: Handler, operation: Operation, request: Message, call: Call): Promise<Message> {
  const answer = ask(handler, operation, request, call) as Promise<Message>;
  return untilAborted(answer, call.signal);
}

/** A stream that has begun: its first event is there, so what could be refused has been refused. */
export interface StartedStream {
  readonly first: Message;
  /** `return` tells the handler by the signal of its Call as well: one that is parked in an await hears nothing else. */
  readonly rest: AsyncIterator<Message>;
}

/**
 * Starts a streaming operation and waits for its first event, so that an early failure is a plain error of the wire and never an event
 * of a stream (§9.5, §11.6).
 *
 * @throws what the handler throws; INVALID_AGENT_RESPONSE if it ends without an event; the signal's reason.
 */
export async function startStream(
  handler: Handler,
  operation: Operation,
  request: Message,
  call: Call,
): Promise<StartedStream> {
  const rest = stoppable(
    (signal) => ask(handler, operation, request, { ...call, signal }) as AsyncIterable<Message>,
    call.signal,
  );
  try {
    const step = await untilAborted(rest.next(), call.signal);
    if (step.done === true) throw new A2AError("INVALID_AGENT_RESPONSE", "The agent gave no answer");
    return { first: step.value, rest };
  } catch (error) {
    release(rest);
    throw error;
  }
}

/** Tells an iterator that nobody reads on. Doesn't wait: one that is parked in an await may never answer. */
export function release(iterator: AsyncIterator<unknown>): void {
  const tell = async () => iterator.return?.();
  tell().catch(() => undefined);
}

/** An iterator whose `return` aborts the signal that it was made with; so does the caller's own. */
function stoppable<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  caller: AbortSignal | undefined,
): AsyncIterator<T> {
  const controller = new AbortController();
  const abort = () => controller.abort(caller?.reason);
  if (caller?.aborted === true) abort();
  caller?.addEventListener("abort", abort, { once: true });
  const iterator = open(controller.signal)[Symbol.asyncIterator]();
  return {
    next: () => iterator.next(),
    async return() {
      caller?.removeEventListener("abort", abort);
      controller.abort();
      await iterator.return?.();
      return { done: true, value: undefined };
    },
  };
}

type Method = (request: Message, call: Call) => Promise<Message> | AsyncIterable<Message>;

/** The one place where an operation's key picks a method: Handler and Operation come of the same descriptor, which types can't say. */
function ask(handler: Handler, { key }: Operation, request: Message, call: Call): ReturnType<Method> {
  return (handler[key] as unknown as Method).call(handler, request, call);
}
