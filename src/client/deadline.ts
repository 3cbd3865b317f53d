import type { Runtime } from "../runtime/runtime.js";

/** How long an answer may take, in milliseconds, unless the caller says. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** A signal that aborts with the caller's, or when the time is over. `clear` it in any case. */
export function deadlineOf(
  runtime: Runtime,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): { signal: AbortSignal | undefined; clear(): void } {
  if (timeoutMs === undefined) return { signal, clear() {} };
  const late = new AbortController();
  const timer = runtime.after(timeoutMs, () => late.abort(new Error(`No answer within ${timeoutMs} ms`)));
  return {
    signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
    clear: () => timer.cancel(),
  };
}
