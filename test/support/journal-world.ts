import { onTestFinished } from "vitest";
import type { Journal } from "../../src/journal/journal.js";
import { type JournalOptions, openSqlJournal } from "../../src/journal/open.js";
import type { SqlJournalOptions } from "../../src/journal/sql-journal.js";
import type { Logger } from "../../src/runtime/logger.js";
import { type FaultPoint, type Runtime, systemRuntime } from "../../src/runtime/runtime.js";

/** Opens a new, empty journal of the kind under test. It is closed when the test ends. */
export type OpenJournal = (options?: Partial<SqlJournalOptions>) => Promise<Journal>;

/** The machine's runtime with a clock that can be moved, and hooks on fault points. */
export interface TestRuntime extends Runtime {
  /** Added to the machine's clock. */
  skewMs: number;
  readonly faults: Map<FaultPoint, () => void>;
  /** Timers that haven't fired or been cancelled. */
  readonly timers: Set<object>;
}

export function testRuntime(): TestRuntime {
  const faults = new Map<FaultPoint, () => void>();
  const timers = new Set<object>();
  return {
    ...systemRuntime,
    skewMs: 0,
    faults,
    timers,
    now() {
      return systemRuntime.now() + this.skewMs;
    },
    after(delayMs, act) {
      const timer = systemRuntime.after(delayMs, () => {
        timers.delete(timer);
        act();
      });
      timers.add(timer);
      return {
        cancel() {
          timers.delete(timer);
          timer.cancel();
        },
      };
    },
    at: (point) => faults.get(point)?.(),
  };
}

/** Collects what is warned of, so that a test may look at it. */
export function recordingLogger(): Logger & { readonly said: string[] } {
  const said: string[] = [];
  const note = (_details: object, message = "") => void said.push(message);
  return { said, debug() {}, info() {}, warn: note, error: note };
}

/** Opens a target, and closes it when the test ends. */
export async function openForTest(target: string, options: Partial<JournalOptions> = {}): Promise<Journal> {
  const journal = await openSqlJournal({ target, runtime: systemRuntime, logger: recordingLogger(), ...options });
  onTestFinished(() => journal.close());
  return journal;
}
