import type { Runtime } from "./runtime.js";

/** Resolves after so many milliseconds. Somebody awaits it, so it keeps the process alive. */
export function pause(runtime: Runtime, delayMs: number): Promise<void> {
  return new Promise((resolve) => runtime.after(delayMs, resolve, { keepAlive: true }));
}

/** Resolves in a later turn of the event loop. */
export function nextLoop(runtime: Runtime): Promise<undefined> {
  return new Promise((resolve) => runtime.defer(() => resolve(undefined)));
}
