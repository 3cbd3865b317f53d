import { v7 } from "uuid";

/** Where a test may stop, kill or fail a run. One name per kind of place; empty in production. */
export type FaultPoint =
  | "append.before-commit"
  | "append.before-sync"
  | "append.after-commit"
  | "accept.before-append"
  | "accept.after-append"
  | "claim"
  | "turn.start"
  | "yield.queued"
  | "turn.before-end"
  | "follow.armed"
  | "follow.read"
  | "wake"
  | "stream.frame"
  | "heartbeat"
  | "take-over"
  | "snapshot"
  | "drain";

/** A timer that can be taken back. */
export interface Timer {
  cancel(): void;
}

/**
 * Everything that isn't deterministic, in one object: the rest of the source may not touch the globals (the linter sees to it), so
 * that a simulation can decide when each thing happens.
 */
export interface Runtime {
  /** Wall clock, in milliseconds since the epoch. */
  now(): number;
  /**
   * Calls `act` once, after `delayMs`. Keeps the process alive only where that is asked for: somebody awaits it, and nothing else would.
   */
  after(delayMs: number, act: () => void, options?: { readonly keepAlive?: boolean }): Timer;
  /** Calls `act` in a later turn of the event loop: what is collected until then goes together. */
  defer(act: () => void): void;
  /** A fresh time-ordered id (UUIDv7). */
  id(): string;
  /** In [0, 1). */
  random(): number;
  /** A named fault point. May throw; may never return. */
  at(point: FaultPoint): void;
}

/** The runtime of production: the machine's clock, timers and randomness, and no faults. */
export const systemRuntime: Runtime = {
  now: Date.now,
  after(delayMs, act, { keepAlive = false } = {}) {
    const timer = setTimeout(act, delayMs);
    if (!keepAlive && typeof timer === "object") timer.unref(); // a number in browsers
    return { cancel: () => clearTimeout(timer) };
  },
  defer: (act) => void setImmediate(act),
  id: () => v7(),
  random: Math.random,
  at() {},
};
