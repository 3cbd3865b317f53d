/** A controller that aborts as soon as one of these signals does. `unlink` lets go of them. */
export function linkedController(...signals: readonly (AbortSignal | undefined)[]): {
  readonly controller: AbortController;
  unlink(): void;
} {
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const signal of signals) signal?.addEventListener("abort", abort);
  if (signals.some((signal) => signal?.aborted)) abort();
  return {
    controller,
    unlink() {
      for (const signal of signals) signal?.removeEventListener("abort", abort);
    },
  };
}
