import type { Call } from "./call.js";
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

/** An operation of a Handler: one that is unary. */
export function unaryOf(handler: Handler, key: Key): Unary {
  return handler[key] as Unary; // the caller has it from `mapHandler`, which knows the kind
}

/** An operation of a Handler: one that streams. */
export function streamingOf(handler: Handler, key: Key): Streaming {
  return handler[key] as Streaming; // as above
}
