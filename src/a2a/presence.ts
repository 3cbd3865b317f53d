import type { Message } from "@bufbuild/protobuf";

/** Protobuf lists have no presence; the one place where an empty list must be on the wire (§3.1.4) is kept beside the message. */
const kept = new WeakMap<object, ReadonlySet<string>>();

/** Says that a list of this message is written even when it is empty. */
export function keepEmpty<M extends Message>(message: M, field: keyof M & string): void {
  kept.set(message, new Set([...(kept.get(message) ?? []), field]));
}

/** The lists (by local name) of this message that are written even when empty. */
export function keptEmpty(message: object): ReadonlySet<string> | undefined {
  return kept.get(message);
}
