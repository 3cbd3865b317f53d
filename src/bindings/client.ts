import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../a2a/call.js";
import { A2AError } from "../a2a/errors.js";
import type { Handler } from "../a2a/handler.js";
import type { Operation } from "../a2a/operation.js";
import type { ProtocolVersion } from "../a2a/protocol-version.js";
import { DEFAULT_MAX_DEPTH, parseJson } from "./json.js";
import { linkedController } from "./linked-controller.js";
import { patientFetch } from "./patient-fetch.js";
import { readBody } from "./read-body.js";
import { writeServiceParameters } from "./service-parameters.js";
import { HttpAnswer, reasonOfStatus } from "./wire-error.js";

/** The largest answer that is read, in bytes, unless options say otherwise. */
export const DEFAULT_MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** What the client half of an HTTP binding needs. */
export interface WireClientOptions {
  /** Of the interface, as the card gives it. */
  readonly url: string;
  /** Default: the global one, without limits of its own to how long an answer may take. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** More headers for each request, such as credentials. They win over those of the binding. */
  headers?: ((call: Call) => Record<string, string> | Promise<Record<string, string>>) | undefined;
  /** Default: A2A 1.0. */
  readonly version?: ProtocolVersion | undefined;
  /** Largest answer, and largest event of a stream, in bytes. Default 64 MiB. */
  readonly maxAnswerBytes?: number | undefined;
  /** Deepest nesting of an answer. Default 100. */
  readonly maxDepth?: number | undefined;
}

/** How a wire is spoken: one call of each kind. */
export interface WireCalls {
  unary(operation: Operation, request: Message, call: Call): Promise<Message>;
  stream(
    operation: Operation,
    request: Message,
    call: Call,
    released: AbortSignal,
  ): AsyncGenerator<Message, void, undefined>;
}

/** A Handler whose every operation goes over a wire. */
export function createWireHandler({ operations }: ProtocolVersion, { unary, stream }: WireCalls): Handler {
  const methods = operations.map((operation) => [
    operation.key,
    operation.streaming
      ? (request: Message, call: Call = {}) => releasable((released) => stream(operation, request, call, released))
      : (request: Message, call: Call = {}) => unary(operation, request, call),
  ]);
  return Object.fromEntries(methods) as Handler; // Operations and Handler come of the same descriptor
}

/** One request of a wire, without what every request has. */
export interface WireCall {
  readonly url: string;
  readonly method: string;
  readonly accept: string;
  /** JSON. */
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
}

/** An answer that has begun. */
export interface Exchange {
  readonly response: Response;
  /** Lets go of the connection. */
  release(): void;
}

/**
 * Sends a request, without following redirects: neither a message nor a credential goes where nobody sent it.
 *
 * @throws the reason of a signal that aborts; what `fetch` throws, as it is, when there is no answer.
 */
export async function exchange(
  options: WireClientOptions,
  versionId: string,
  { url, method, accept, body, contentType }: WireCall,
  call: Call,
  released?: AbortSignal,
): Promise<Exchange> {
  call.signal?.throwIfAborted();
  const fetch = options.fetch ?? patientFetch;
  const headers: Record<string, string> = {
    accept,
    ...(contentType !== undefined && { "content-type": contentType }),
    ...writeServiceParameters(call, versionId),
    ...(await options.headers?.(call)),
  };
  const { controller, unlink } = linkedController(call.signal, released);
  const release = () => {
    unlink();
    controller.abort();
  };
  try {
    const init: RequestInit = {
      method,
      headers,
      redirect: "manual",
      signal: controller.signal,
      ...(body !== undefined && { body }),
    };
    return { response: await fetch(url, init), release };
  } catch (error) {
    release();
    call.signal?.throwIfAborted();
    throw error;
  }
}

/** An answer's whole body. */
export interface Answer {
  /** `undefined` if it is no JSON. */
  readonly json: unknown;
  /** For whatever is wrong with it. */
  readonly cause: HttpAnswer;
}

/** Reads a whole answer. @throws A2AError INVALID_AGENT_RESPONSE if it is too large; what the connection throws if it breaks. */
export async function readAnswer(
  { response }: Exchange,
  { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES, maxDepth = DEFAULT_MAX_DEPTH }: WireClientOptions,
  call: Call,
): Promise<Answer> {
  const bytes = await readBody(response.body, maxAnswerBytes).catch((error: unknown) => {
    call.signal?.throwIfAborted();
    throw error;
  });
  if (bytes === undefined) {
    const message = `The answer is larger than ${maxAnswerBytes} bytes`;
    throw new A2AError("INVALID_AGENT_RESPONSE", message, { cause: new HttpAnswer(response) });
  }
  const cause = new HttpAnswer(response, excerptOf(bytes));
  try {
    return { json: parseJson(bytes, maxDepth), cause };
  } catch {
    return { json: undefined, cause };
  }
}

/** What a bare answer means that no agent wrote: an HTML page, half a JSON, nothing. */
export function errorOfBareAnswer(cause: HttpAnswer): A2AError {
  const { status } = cause;
  const ok = status >= 200 && status < 300;
  return new A2AError(
    reasonOfStatus(status),
    ok ? "The answer is not what this protocol says" : `The server answered with HTTP ${status}`,
    { cause },
  );
}

/** An answer of an agent that breaks the protocol. */
export function invalidAnswer(what: string, cause: unknown): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", `The agent gave an invalid response: ${what}`, { cause });
}

/** Whether an answer is an event stream that has begun well. */
export function isEventStream({ ok, headers }: Response): boolean {
  return ok && /^text\/event-stream\s*(;|$)/i.test(headers.get("content-type") ?? "");
}

function excerptOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, 200)).replace(/\s+/g, " ").trim();
}

/** A stream whose `return` lets go of the connection at once, even while a read is pending; that read then ends the stream. */
function releasable<T>(open: (released: AbortSignal) => AsyncGenerator<T, void, undefined>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const controller = new AbortController();
      const events = open(controller.signal);
      return {
        next: () =>
          events.next().catch((error: unknown) => {
            if (controller.signal.aborted) return { done: true, value: undefined };
            throw error;
          }),
        async return() {
          controller.abort();
          events.return().catch(() => undefined);
          return { done: true, value: undefined };
        },
      };
    },
  };
}
