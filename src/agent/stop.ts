import { isTerminal } from "../a2a/task-state.js";
import type { Journal, Lease, StoredEvent } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime, Timer } from "../runtime/runtime.js";

const DEFAULT_INACTIVITY_MS = 600_000;

/** Why a run was told to stop; `signal.reason` is one. */
export class RunStopped extends Error {
  readonly why: "canceled" | "lost" | "shutdown" | "inactive";
  constructor(why: RunStopped["why"], message: string) {
    super(message);
    this.name = "RunStopped";
    this.why = why;
  }
}

/**
 * What may stop a run: a cancel or a fence in its log, the server's shutdown, its own silence. It is told once, through the signal;
 * then it has its grace time, and is abandoned.
 */
export interface Stop {
  readonly signal: AbortSignal;
  /** Why the signal aborted, if it did. */
  readonly reason: RunStopped | undefined;
  /** The task was taken from this run: nothing of it can be recorded any more. */
  readonly lost: boolean;
  /** What a run gives, unless it is abandoned first. One call at a time. */
  unlessAbandoned<T>(work: Promise<T>): Promise<T | "abandoned">;
  now(reason: RunStopped): void;
  /** The run said something. */
  heard(): void;
  close(): void;
}

/**
 * Watches the log from `position` on, and the run's silence.
 * @param inactivityMs how long the run may say nothing. Default 600 000 (10 minutes).
 */
export function createStop(
  context: {
    journal: Journal;
    runtime: Runtime;
    logger: Logger;
    lease: Lease;
    stops: Set<() => void>;
    graceMs: number;
  },
  { position, inactivityMs = DEFAULT_INACTIVITY_MS }: { position: number; inactivityMs: number | undefined },
): Stop {
  const { journal, runtime, logger, lease, stops, graceMs } = context;
  let controller: AbortController | undefined; // made when somebody looks: most runs don't
  let told: RunStopped | undefined;
  const watching = journal.follow(lease.taskId, position)[Symbol.asyncIterator]();
  let grace: Timer | undefined;
  let lost = false;
  let abandoned = false;
  let onAbandoned = (): void => {};
  const abandon = (): void => {
    abandoned = true;
    onAbandoned();
  };
  const now = (reason: RunStopped): void => {
    if (reason.why === "lost") {
      lost = true;
      abandon();
    }
    // A canceled run that doesn't end is ended by whoever took the cancel, unless there is less time; the others are ended here.
    if (reason.why !== "canceled") grace ??= runtime.after(graceMs, abandon, { keepAlive: true });
    told ??= reason;
    controller?.abort(told);
  };
  const silence = (): Timer =>
    runtime.after(inactivityMs, () => now(new RunStopped("inactive", `Nothing was said for ${inactivityMs} ms`)));
  let inactive = silence();
  const onShutdown = (): void => now(new RunStopped("shutdown", "The server shuts down"));
  stops.add(onShutdown);
  watch(watching, lease, now).catch((err: unknown) =>
    logger.error({ err, taskId: lease.taskId }, "A run can't see whether it is canceled"),
  );

  return {
    get signal() {
      controller ??= new AbortController();
      if (told !== undefined) controller.abort(told);
      return controller.signal;
    },
    get reason() {
      return told;
    },
    get lost() {
      return lost;
    },
    unlessAbandoned: (work) =>
      new Promise((resolve, reject) => {
        onAbandoned = () => resolve("abandoned");
        work.then(resolve, reject);
        if (abandoned) onAbandoned();
      }),
    now,
    heard() {
      inactive.cancel();
      inactive = silence();
    },
    close() {
      watching.return?.().catch(() => undefined); // nothing is parked behind it
      inactive.cancel();
      grace?.cancel();
      stops.delete(onShutdown);
    },
  };
}

/** Reads on in the log for what others append: a cancel, or the end. */
async function watch(
  entries: AsyncIterator<StoredEvent>,
  { epoch }: Lease,
  stop: (reason: RunStopped) => void,
): Promise<void> {
  for (let step = await entries.next(); !step.done; step = await entries.next()) {
    const { event } = step.value;
    if (event.kind.case === "cancelRequested") stop(new RunStopped("canceled", "The task was canceled"));
    if (event.kind.case === "statusUpdated" && isTerminal(event.kind.value.state) && event.epoch !== epoch) {
      stop(new RunStopped("lost", "The task was ended by somebody else"));
    }
  }
}
