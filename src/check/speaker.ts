import type { JsonObject } from "@bufbuild/protobuf";
import type { Operation } from "../a2a/operation.js";
import type { AgentInterface } from "../a2a/types.js";
import type { UnknownObject } from "../a2a/unknown-json.js";
import type { BindingName } from "../client/choose-interface.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Verdicts } from "./report.js";

/** What every speaker needs. */
export interface SpeakerContext {
  readonly runtime: Runtime;
  readonly record: Verdicts;
  readonly interface: AgentInterface;
  /** Sent with every request, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** For one answer, to its end. */
  readonly timeoutMs: number;
}

/** An error as a wire wrote it. */
export interface WireError {
  /** The wire's own number: of JSON-RPC, of HTTP, of gRPC. */
  readonly code: number;
  readonly message: string;
  /** Of `google.rpc.ErrorInfo`. */
  readonly reason: string | undefined;
  readonly domain: string | undefined;
  /** Whether a `google.rpc.BadRequest` says what is wrong. */
  readonly hasViolations: boolean;
  readonly isUnauthenticated: boolean;
  /** Which authentication is wanted. */
  readonly challenge: string | undefined;
}

/** What became of a request. */
export type Outcome =
  | { readonly case: "result"; readonly json: UnknownObject }
  | { readonly case: "error"; readonly error: WireError }
  /** An answer that isn't one of this wire. */
  | { readonly case: "broken"; readonly why: string }
  /** No answer. */
  | { readonly case: "silent"; readonly why: string }
  /** Not even sent. */
  | { readonly case: "unsent"; readonly why: string };

/** A stream that has begun. */
export interface OpenStream {
  readonly case: "stream";
  /** `undefined` at its end. What isn't a result is the last. */
  next(): Promise<Outcome | undefined>;
  close(): void;
}

/** How a request differs from the usual. */
export interface SpeakOptions {
  /** `A2A-Version`; empty: none. Default 1.0. */
  readonly version?: string | undefined;
  /** Behind the URL, without `?`. */
  readonly query?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** The answer isn't judged by the contract: it may repeat what was broken on purpose. */
  readonly isUnjudged?: boolean | undefined;
  /** In place of those of the context, or beside them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Speaks one binding in raw requests, and judges the shape of each answer as it passes. Never throws. */
export interface Speaker {
  readonly binding: BindingName;
  /** Whether it carries ProtoJSON, so that a request may hold what protobuf can't. */
  readonly isJson: boolean;
  /** The column of the error table that its codes are of. */
  readonly codes: "jsonRpc" | "http" | "grpc";
  call(operation: Operation, request: JsonObject, options?: SpeakOptions): Promise<Outcome>;
  open(operation: Operation, request: JsonObject, options?: SpeakOptions): Promise<OpenStream | Outcome>;
  close(): void;
}

/** The headers of a request: its binding's own, the version, those of every request, and those of this one. */
export function headersOf(
  { headers }: SpeakerContext,
  own: Readonly<Record<string, string>>,
  { version = "1.0", headers: more }: SpeakOptions,
): Record<string, string> {
  return { ...own, ...(version !== "" && { "a2a-version": version }), ...headers, ...more };
}

/** An outcome in words. */
export function told(outcome: Outcome | OpenStream): string {
  switch (outcome.case) {
    case "result":
      return `a result: ${excerpt(JSON.stringify(outcome.json))}`;
    case "error": {
      const { code, reason, message } = outcome.error;
      return `error ${code}${reason === undefined ? "" : ` ${reason}`}: ${excerpt(message)}`;
    }
    case "stream":
      return "a stream";
    default:
      return outcome.why;
  }
}

/** The beginning of a text, on one line. */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}
