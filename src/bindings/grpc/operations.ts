import type { DescMethod, Message } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  ConnectError,
  type ConnectRouter,
  type ContextKey,
  createContextKey,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { Call, Principal } from "../../a2a/call.js";
import { decodeJson, encodeJson, violationsOf } from "../../a2a/codec.js";
import { fromValue, toValue } from "../../a2a/codec-wkt.js";
import { A2AError, invalidParams } from "../../a2a/errors.js";
import { type BindingContext, callOf, echoOf, invoke, startStream } from "../binding.js";
import { readOrRefused } from "../read-or-refused.js";
import { negotiateVersion, readServiceParameters, VERSION_HEADER } from "../service-parameters.js";
import { refusalOf } from "../wire-error.js";
import { toConnectError } from "./errors.js";
import { createReader } from "./reader.js";
import type { GrpcMethod, GrpcService } from "./service.js";

/** The host's own request, on its way through the router. */
export const hostRequest: ContextKey<HostRequest | undefined> = createContextKey<HostRequest | undefined>(undefined);
/** What an authenticator may want of the host's request. */
export interface HostRequest {
  readonly remoteAddress: string;
  readonly original: unknown;
}

/** How a method's messages are read and written on a wire: in protobuf, or as JSON. */
interface Flavour {
  /** The method as the router should see it. */
  on(method: DescMethod): DescMethod;
  /** @throws A2AError INVALID_PARAMS with every violation. */
  read(method: DescMethod, message: Message): Message;
  write(method: DescMethod, message: Message): Message;
  /** The request before it is read. */
  raw(message: Message): unknown;
}

/** Connect reads and writes the messages. What the contract says is judged here. */
export const binary: Flavour = {
  on: (method) => method,
  read(method, message) {
    const violations = violationsOf(method.input, message);
    if (violations.length > 0) throw invalidParams(violations);
    return message;
  },
  write: (_method, message) => message,
  raw: (message) => message,
};

/**
 * For a caller who sends JSON the router sees methods from any value to any value, so that our codec reads and writes it as on the JSON
 * bindings: every violation at once, nulls, REQUIRED members. Connect's own would stop at the first, and can't be replaced.
 */
export const json: Flavour = {
  on: (method) => ({ ...method, input: ValueSchema, output: ValueSchema }),
  read: (method, message) => decodeJson(method.input, fromValue(message as Value)),
  write: (method, message) => toValue(encodeJson(method.output, message)),
  raw: (message) => fromValue(message as Value),
};

/** Mounts the operations of a service. */
export function addOperations(
  router: ConnectRouter,
  context: BindingContext,
  service: GrpcService,
  flavour: Flavour,
): void {
  for (const method of service.methods) {
    const implementation = method.operation.streaming
      ? streamOf(context, service, method, flavour)
      : answerOf(context, service, method, flavour);
    // Whether a method streams is data here; the router's types want to know it of each method by name.
    router.rpc(flavour.on(method.method), implementation as ServiceImpl<typeof service.service>[string]);
  }
}

function answerOf(context: BindingContext, service: GrpcService, method: GrpcMethod, flavour: Flavour) {
  return async (message: Message, at: HandlerContext): Promise<Message> => {
    try {
      const { request, call } = await accept(context, service, method, flavour, message, at);
      const response = await invoke(context.handler, method.operation, request, call);
      echo(context, call, at.responseHeader);
      return flavour.write(method.method, method.response(response));
    } catch (thrown) {
      throw wireError(thrown, context, at.signal);
    }
  };
}

function streamOf(context: BindingContext, service: GrpcService, method: GrpcMethod, flavour: Flavour) {
  return async function* (message: Message, at: HandlerContext): AsyncGenerator<Message, void, undefined> {
    try {
      const { request, call } = await accept(context, service, method, flavour, message, at);
      const { first, rest } = await startStream(context.handler, method.operation, request, call);
      echo(context, call, at.responseHeader);
      const reader = createReader(rest, at.signal, context.draining);
      try {
        yield flavour.write(method.method, method.response(first));
        for (;;) {
          const step = await reader.next();
          if (step === undefined) throw at.signal.aborted ? at.signal.reason : new A2AError("DRAINING");
          if (step.done === true) return;
          context.runtime.at("stream.frame");
          yield flavour.write(method.method, method.response(step.value));
        }
      } finally {
        reader.close();
      }
    } catch (thrown) {
      throw wireError(thrown, context, at.signal);
    }
  };
}

function echo(context: BindingContext, call: Call, headers: Headers): void {
  for (const [name, value] of Object.entries(echoOf(context, call))) headers.set(name, value);
}

/** Who asks, how, and what: judged in this order, so that who isn't known learns nothing. */
async function accept(
  context: BindingContext,
  { version }: GrpcService,
  { method, operation, request }: GrpcMethod,
  flavour: Flavour,
  message: Message,
  at: HandlerContext,
): Promise<{ readonly request: Message; readonly call: Call }> {
  const principal = await admit(context, at);
  assertVersion(context, version, at.requestHeader);
  const read = readOrRefused(context, operation, at.requestHeader, {
    read: () => request(flavour.read(method, message)),
    raw: () => flavour.raw(message),
  });
  return { request: read, call: callOf(read, principal, readServiceParameters(at.requestHeader), at.signal) };
}

/** Who is asking. @throws A2AError UNAUTHENTICATED, PERMISSION_DENIED; DRAINING for whoever comes too late. */
export async function admit(context: BindingContext, at: HandlerContext): Promise<Principal> {
  if (context.draining.aborted) throw new A2AError("DRAINING");
  const { remoteAddress = "", original } = at.values.get(hostRequest) ?? {};
  return context.authenticate({ headers: at.requestHeader, url: new URL(at.url), remoteAddress, original });
}

/** Absent is fine, for the service names its version in its package. @throws A2AError VERSION_NOT_SUPPORTED. */
function assertVersion({ versions }: BindingContext, version: string, headers: Headers): void {
  if ((headers.get(VERSION_HEADER) ?? "").trim() === "") return;
  const spoken = versions.filter(({ id }) => id === version);
  negotiateVersion(headers, new URLSearchParams(), spoken);
}

/** What goes on the wire for whatever was thrown. An abort is no error: it stays the caller's cancellation or deadline. */
export function wireError(thrown: unknown, context: BindingContext, signal: AbortSignal): ConnectError {
  if (signal.aborted && thrown === signal.reason) return ConnectError.from(thrown);
  return toConnectError(refusalOf(thrown, context, signal), context.challenges);
}
