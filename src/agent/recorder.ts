import { A2AError } from "../a2a/errors.js";
import type { AppendRequest, AppendResult, Journal, Lease, NewEvent } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import { pause } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";

/** Entries that a run may be ahead of the log. */
const MAX_UNCOMMITTED = 64;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;
const MAX_ATTEMPTS = 12;

/** How a turn gives its lease up. */
export type Release = Pick<AppendRequest, "release" | "due" | "seen">;

/** Where a run's words go, and who hears that they can't. */
export interface RecorderContext {
  readonly journal: Journal;
  readonly lease: Lease;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** The journal refused: the lease is lost, or the task has ended. Called once, with what it said; what follows is dropped. */
  onLost(why: AppendResult["kind"]): void;
  /** The journal failed for good. What follows is dropped; `assertSound` says why. */
  onFailed(): void;
}

/** Hands what a run says to the journal: in order, in groups, under the lease. */
export class Recorder {
  readonly #context: RecorderContext;
  #queue: NewEvent[] = [];
  /** While entries wait for the next turn of the event loop, or are being appended. */
  #flushing: Promise<void> | undefined;
  #sending = false;
  #lost = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(context: RecorderContext) {
    this.#context = context;
  }

  /** Queues an entry. Wait for what it gives before the next one, if it gives anything: the log is to catch up. */
  record(event: NewEvent): Promise<void> | undefined {
    if (this.#lost) return undefined;
    this.#context.runtime.at("yield.queued");
    this.#queue.push(event);
    this.#flushing ??= this.#flush();
    return this.#queue.length >= MAX_UNCOMMITTED ? this.#flushing : undefined;
  }

  /** @throws what the journal failed with, if it did: something that the run has said isn't recorded. */
  assertSound(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /**
   * Appends all that is queued, and these, and gives the lease up. A `conflict` (`seen`) stores nothing: end again, with other words.
   * @throws what the journal failed with, also before.
   */
  async end(events: readonly NewEvent[], release: Release): Promise<AppendResult> {
    const rest = this.#queue; // shares the append of the ending
    this.#queue = [];
    if (this.#sending) await this.#flushing; // else it only waits for more to send, and finds nothing
    this.assertSound();
    if (this.#lost) return { kind: "fenced" };
    this.#context.runtime.at("turn.before-end");
    const result = await this.#append([...rest, ...events], release);
    if (result.kind === "conflict") this.#queue = rest; // nothing was stored
    return result;
  }

  /** Resolves when nothing is queued any more. What the run says until the next turn of the event loop goes along. */
  #flush(): Promise<void> {
    return new Promise((resolve) => {
      this.#context.runtime.defer(() => {
        if (this.#queue.length > 0) void this.#send().then(resolve);
        else {
          this.#flushing = undefined; // the ending took it
          resolve();
        }
      });
    });
  }

  async #send(): Promise<void> {
    try {
      while (this.#queue.length > 0 && !this.#lost) {
        const events = this.#queue;
        this.#queue = [];
        this.#sending = true;
        const { kind } = await this.#append(events);
        this.#sending = false;
        if (kind !== "ok" && this.#drop()) this.#context.onLost(kind);
      }
    } catch (error) {
      this.#failure = { error };
      if (this.#drop()) this.#context.onFailed();
    } finally {
      this.#sending = false;
      this.#flushing = undefined;
    }
  }

  #drop(): boolean {
    const first = !this.#lost;
    this.#lost = true;
    this.#queue = [];
    return first;
  }

  /** A journal that fails for a while (a full disk, a lock) stalls the run, and loses nothing. What it can't ever take is told at once. */
  async #append(said: readonly NewEvent[], release?: Release): Promise<AppendResult> {
    const { journal, lease, logger, runtime } = this.#context;
    const { taskId, epoch } = lease;
    const request: AppendRequest = { taskId, epoch, events: said, given: true, ...release };
    for (let attempt = 1, delayMs = FIRST_RETRY_MS; ; attempt++, delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
      try {
        return await journal.append(request);
      } catch (cause) {
        const mayPass = cause instanceof A2AError && cause.reason === "INTERNAL";
        if (!mayPass || attempt === MAX_ATTEMPTS) throw cause;
        logger.warn({ err: cause, taskId, attempt }, "The journal didn't take what a run said; trying again");
        await pause(runtime, delayMs);
      }
    }
  }
}
