import { isTerminal } from "../a2a/task-state.js";
import type { Journal, Lease, Listener, StoredEvent } from "../journal/journal.js";
import type { Bag, Place } from "../runtime/bag.js";
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

/** What a run is watched with. */
export interface StopContext {
  readonly journal: Journal;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly lease: Lease;
  /** Those that are told when the server shuts down. */
  readonly stops: Bag<Stop>;
  /** How long a run that was told to stop may take to end, in milliseconds. */
  readonly graceMs: number;
}

/**
 * What may stop a run: a cancel or a fence in its log, the server's shutdown, its own silence. It is told once, through the signal;
 * then it has its grace time, and is abandoned.
 */
export class Stop implements Listener {
  readonly #context: StopContext;
  readonly #inactivityMs: number;
  readonly #place: Place<Stop>;
  readonly #unwatch: () => void;
  /** Made when somebody looks: most runs don't. */
  #controller: AbortController | undefined;
  #told: RunStopped | undefined;
  #heardAt: number;
  #inactive: Timer;
  #grace: Timer | undefined;
  #lost = false;
  #abandoned = false;
  /** Whom the run owes its next step. */
  #abandonedBy: ((how: "abandoned") => void) | undefined;

  /**
   * Watches the log from `position` on, and the run's silence, until it is closed.
   * @param inactivityMs how long the run may say nothing. Default 600 000 (10 minutes).
   */
  constructor(context: StopContext, position: number, inactivityMs: number = DEFAULT_INACTIVITY_MS) {
    const { journal, runtime, lease, stops } = context;
    this.#context = context;
    this.#inactivityMs = inactivityMs;
    this.#heardAt = runtime.now();
    this.#inactive = runtime.after(inactivityMs, () => this.#listen());
    this.#place = stops.add(this);
    this.#unwatch = journal.watch(lease.taskId, position, this);
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#told !== undefined) this.#controller.abort(this.#told);
    return this.#controller.signal;
  }

  /** Why the signal aborted, if it did. */
  get reason(): RunStopped | undefined {
    return this.#told;
  }

  /** The task was taken from this run: nothing of it can be recorded any more. */
  get lost(): boolean {
    return this.#lost;
  }

  /** What a run gives, unless it is abandoned first. One call at a time. */
  unlessAbandoned<T>(work: Promise<T>): Promise<T | "abandoned"> {
    return new Promise((resolve, reject) => {
      this.#abandonedBy = resolve;
      work.then(resolve, reject);
      if (this.#abandoned) resolve("abandoned");
    });
  }

  now(reason: RunStopped): void {
    if (reason.why === "lost") {
      this.#lost = true;
      this.#abandon();
    }
    // A canceled run that doesn't end is ended by whoever took the cancel, unless there is less time; the others are ended here.
    if (reason.why !== "canceled") {
      const { runtime, graceMs } = this.#context;
      this.#grace ??= runtime.after(graceMs, () => this.#abandon(), { keepAlive: true });
    }
    this.#told ??= reason;
    this.#controller?.abort(this.#told);
  }

  shutDown(): void {
    this.now(new RunStopped("shutdown", "The server shuts down"));
  }

  /** The run said something. */
  heard(): void {
    this.#heardAt = this.#context.runtime.now();
  }

  close(): void {
    this.#unwatch();
    this.#inactive.cancel();
    this.#grace?.cancel();
    this.#context.stops.remove(this.#place);
    this.#abandonedBy = undefined;
  }

  /** What others append: a cancel, or the end. */
  entry({ event: { kind, epoch } }: StoredEvent): void {
    if (kind.case === "cancelRequested") this.now(new RunStopped("canceled", "The task was canceled"));
    if (kind.case === "statusUpdated" && isTerminal(kind.value.state) && epoch !== this.#context.lease.epoch) {
      this.now(new RunStopped("lost", "The task was ended by somebody else"));
    }
  }

  ended(error: unknown): void {
    if (error === undefined) return;
    const { logger, lease } = this.#context;
    logger.error({ err: error, taskId: lease.taskId }, "A run can't see whether it is canceled");
  }

  #abandon(): void {
    this.#abandoned = true;
    this.#abandonedBy?.("abandoned");
  }

  /** One timer for all that a run says: it looks again when the silence has not lasted as long. */
  #listen(): void {
    const { runtime } = this.#context;
    const leftMs = this.#heardAt + this.#inactivityMs - runtime.now();
    if (leftMs > 0) this.#inactive = runtime.after(leftMs, () => this.#listen());
    else this.now(new RunStopped("inactive", `Nothing was said for ${this.#inactivityMs} ms`));
  }
}
