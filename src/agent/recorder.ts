import { A2AError } from "../a2a/errors.js";
import type { AppendRequest, AppendResult, Journal, Lease, NewEvent } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import { nextLoop, pause } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";

/** Entries that a run may be ahead of the log. */
const MAX_UNCOMMITTED = 64;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;
const MAX_ATTEMPTS = 12;

/** How a turn gives its lease up. */
export type Release = Pick<AppendRequest, "release" | "due" | "seen">;

/** Hands what a run says to the journal: in order, in groups, under the lease. */
export interface Recorder {
  /** Queues an entry. Wait for what it gives before the next one: it resolves at once, or when the log has caught up a little. */
  record(event: NewEvent): Promise<void>;
  /** Appends all that is queued, and these, and gives the lease up. A `conflict` (`seen`) stores nothing: end again, with other words. */
  end(events: readonly NewEvent[], release: Release): Promise<AppendResult>;
}

/**
 * A recorder for one lease. When the journal refuses (the lease is lost, the task has ended), `onLost` is called once, with what it
 * said; when it fails for good, `onFailed`. Everything after that is dropped.
 */
export function createRecorder(context: {
  journal: Journal;
  lease: Lease;
  runtime: Runtime;
  logger: Logger;
  onLost(why: AppendResult["kind"]): void;
  onFailed(error: unknown): void;
}): Recorder {
  const { journal, lease, runtime, logger } = context;
  let queue: NewEvent[] = [];
  let flushing: Promise<void> | undefined;
  let sending = false;
  let lost = false;

  const append = (events: readonly NewEvent[], release: Release = {}): Promise<AppendResult> =>
    persistently({ runtime, logger, taskId: lease.taskId }, () =>
      journal.append({
        taskId: lease.taskId,
        epoch: lease.epoch,
        events: events.map((event) => ({ ...event, epoch: lease.epoch })),
        ...release,
      }),
    );
  const drop = (): boolean => {
    const first = !lost;
    lost = true;
    queue = [];
    return first;
  };
  const flush = async (): Promise<void> => {
    while (queue.length > 0 && !lost) {
      await nextLoop(runtime); // what the run says meanwhile goes along
      if (queue.length === 0) return; // taken by the ending
      const events = queue;
      queue = [];
      sending = true;
      const result = await append(events);
      sending = false;
      if (result.kind !== "ok" && drop()) context.onLost(result.kind);
    }
  };
  const flushed = (): Promise<void> => {
    flushing ??= flush()
      .catch((error: unknown) => {
        if (drop()) context.onFailed(error);
      })
      .finally(() => {
        flushing = undefined;
      });
    return flushing;
  };

  return {
    async record(event) {
      if (lost) return;
      runtime.at("yield.queued");
      queue.push(event);
      const done = flushed();
      if (queue.length >= MAX_UNCOMMITTED) await done;
    },
    async end(events, release) {
      const rest = queue; // shares the append of the ending
      queue = [];
      if (sending) await flushing; // else it only waits for more to send, and finds nothing
      if (lost) return { kind: "fenced" };
      runtime.at("turn.before-end");
      const result = await append([...rest, ...events], release);
      if (result.kind === "conflict") queue = rest; // nothing was stored
      return result;
    },
  };
}

/** A journal that fails for a while (a full disk, a lock) stalls the run, and loses nothing. What it can't ever take is told at once. */
async function persistently<T>(
  { runtime, logger, taskId }: { runtime: Runtime; logger: Logger; taskId: string },
  act: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1, delayMs = FIRST_RETRY_MS; ; attempt++, delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
    try {
      return await act();
    } catch (cause) {
      const mayPass = cause instanceof A2AError && cause.reason === "INTERNAL";
      if (!mayPass || attempt === MAX_ATTEMPTS) throw cause;
      logger.warn({ err: cause, taskId, attempt }, "The journal didn't take what a run said; trying again");
      await pause(runtime, delayMs);
    }
  }
}
