import type { Runtime } from "../runtime/runtime.js";

/** Does something again while another process is writing; after ten seconds it rejects as it is. */
export type WhenFree = <T>(act: () => Promise<T>) => Promise<T>;

const GIVE_UP_AFTER_MS = 10_000;
const PAUSE_MS = 20;

export function createWhenFree(runtime: Runtime, isBusy: (error: unknown) => boolean): WhenFree {
  return async (act) => {
    const giveUpAt = runtime.now() + GIVE_UP_AFTER_MS;
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (!isBusy(error) || runtime.now() >= giveUpAt) throw error;
      }
      // Not all at the same moment again.
      const pauseMs = PAUSE_MS * (0.5 + runtime.random());
      await new Promise<void>((resolve) => runtime.after(pauseMs, resolve, { keepAlive: true }));
    }
  };
}
