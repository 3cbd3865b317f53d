import type { Message } from "@bufbuild/protobuf";

/**
 * A deep copy of a message. Those of the contract are plain data (proto3 tracks no presence in prototypes), and copied as such; `clone`,
 * which walks the descriptor, takes several times as long.
 */
export function copyMessage<M extends Message>(message: M): M {
  return copy(message);
}

function copy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy) as T;
  if (value instanceof Uint8Array) return value.slice() as unknown as T;
  const copied = { ...value };
  for (const key of Object.keys(copied) as (keyof T)[]) {
    const member = copied[key];
    if (typeof member === "object" && member !== null) copied[key] = copy(member);
  }
  return copied;
}
