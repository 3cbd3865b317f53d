import { pause } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";

/** Does something again while another process is writing; after ten seconds it rejects as it is. */
export type WhenFree = <T>(act: () => Promise<T>) => Promise<T>;

const GIVE_UP_AFTER_MS = 10_000;
const PAUSE_MS = 20;

/** @param isBusy whether an error says that another process is writing. */
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
      await pause(runtime, PAUSE_MS * (0.5 + runtime.random()));
    }
  };
}
