import type { Message } from "@bufbuild/protobuf";
import type { Call } from "./call.js";
import { violationsOf } from "./codec.js";
import { invalidParams } from "./errors.js";
import type { Handler } from "./handler.js";
import { A2AService } from "./types.js";

type Key = keyof Handler;

/** A unary operation, whichever it is: its messages pass through unread. */
export type Unary = (request: never, call: Call) => Promise<unknown>;
/** A streaming operation, whichever it is. */
export type Streaming = (request: never, call: Call) => AsyncIterable<unknown>;

/** A Handler made of two functions: one makes the unary operations, one the streaming ones. The list of them is the descriptor's. */
export function mapHandler(make: { unary(key: Key): Unary; streaming(key: Key): Streaming }): Handler {
  const methods = A2AService.methods.map(({ localName, methodKind }) => {
    const key = localName as Key; // Handler is mapped from this very descriptor
    return [key, methodKind === "unary" ? make.unary(key) : make.streaming(key)];
  });
  return Object.fromEntries(methods) as Handler; // one entry for each method, of its kind
}

/** The operation of a Handler, whichever it is. */
export function unaryOf(handler: Handler, key: Key): Unary {
  return handler[key] as Unary; // the caller has it from `mapHandler`, which knows the kind
}

export function streamingOf(handler: Handler, key: Key): Streaming {
  return handler[key] as Streaming; // as above
}

/** One Handler for several agents: the request's tenant names the one that is meant (§8.3.2). */
export function routeByTenant(handlers: ReadonlyMap<string, Handler>): Handler {
  const handlerFor = ({ tenant }: { readonly tenant: string }): Handler => {
    const handler = handlers.get(tenant);
    if (handler !== undefined) return handler;
    throw invalidParams([{ path: "tenant", rule: "TENANT", description: "is not known here", section: "§8.3.2" }]);
  };
  return mapHandler({
    unary: (key) => async (request, call) => unaryOf(handlerFor(request), key)(request, call),
    streaming: (key) =>
      async function* (request, call) {
        yield* streamingOf(handlerFor(request), key)(request, call);
      },
  });
}

/** Judges each request by the contract first, as a wire does when it decodes one (§5.7): for a Handler that is called in process. */
export function judged(handler: Handler): Handler {
  const judge = (key: Key, request: Message): void => {
    const violations = violationsOf(A2AService.method[key].input, request);
    if (violations.length > 0) throw invalidParams(violations);
  };
  return mapHandler({
    unary: (key) => async (request, call) => {
      judge(key, request);
      return unaryOf(handler, key)(request, call);
    },
    streaming: (key) =>
      async function* (request, call) {
        judge(key, request);
        yield* streamingOf(handler, key)(request, call);
      },
  });
}
