import type { Place } from "../runtime/bag.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime, Timer } from "../runtime/runtime.js";
import type { Entry } from "./event.js";
import type { Listener, StoredEvent } from "./journal.js";
import { LogReader, type LogSource } from "./log-reader.js";
import { Tail, type TailReader } from "./tail.js";

/** Where entries are read, and how far tails reach. */
export interface FollowOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** The longest that a lost wake-up, or another process's append, goes unseen, in milliseconds. */
  readonly pollMs: number;
  /** Entries that a tail keeps. */
  readonly ringSize: number;
  /** Entries that a reader behind its tail reads at once. */
  readonly pageSize: number;
  readonly read: (taskId: string, after: number, limit: number) => Promise<readonly Entry[]>;
  /** Positions of those of these tasks that exist. */
  readonly positions: (taskIds: readonly string[]) => Promise<ReadonlyMap<string, number>>;
}

const RING_BYTES = 4 * 1024 * 1024;

/**
 * Follows logs. All readers of a task share one tail: a wake-up costs one read for all of them, or none where this process appended.
 * Who is behind the tail's ring pages on its own. A wake-up that is lost costs latency: one poll looks after all followed tasks.
 */
export class Tails implements LogSource {
  readonly #options: FollowOptions;
  readonly #tails = new Map<string, Tail>();
  /** Tails that are being read on, and up to where at least. */
  readonly #reading = new Map<Tail, number>();
  #poll: Timer | undefined;
  #closed = false;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** How many tasks are followed here. */
  get size(): number {
    return this.#tails.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get pageSize(): number {
    return this.#options.pageSize;
  }

  /** See `Journal.follow`. */
  follow(taskId: string, after: number, signal?: AbortSignal): AsyncIterableIterator<StoredEvent> {
    return new LogReader(this, taskId, after, signal);
  }

  /** See `Journal.watch`. */
  watch(taskId: string, after: number, listener: Listener, signal?: AbortSignal): () => void {
    const reader = new LogReader(this, taskId, after, signal);
    reader.tell(listener);
    return () => reader.leave();
  }

  /**
   * This process has committed these entries of a task. One that is worked on here (`held`) will be followed: its tail is begun with
   * them, so that whoever comes finds them without a read.
   */
  offer(taskId: string, entries: readonly Entry[], held = false): void {
    const newest = entries.at(-1);
    const known = this.#tails.get(taskId);
    if (known?.readers.size === 0 && !held) {
      this.#forget(taskId, known);
      return;
    }
    const tail = known ?? (held && !this.#closed ? this.#begin(taskId) : undefined);
    if (tail === undefined || newest === undefined) return;
    tail.held = held;
    try {
      this.#options.runtime.at("wake");
    } catch (error) {
      this.#options.logger.debug({ err: error, taskId }, "A wake-up was lost");
      return;
    }
    if (!tail.absorb(entries)) void this.#readOn(taskId, tail, newest.position);
  }

  /** Ends every reader. */
  close(): void {
    this.#closed = true;
    this.#poll?.cancel();
    for (const tail of this.#tails.values()) tail.wake();
  }

  join(taskId: string, reader: TailReader) {
    const tail = this.#tails.get(taskId) ?? this.#begin(taskId);
    return { tail, place: tail.readers.add(reader) };
  }

  armed(): void {
    this.#options.runtime.at("follow.armed");
  }

  leave(taskId: string, tail: Tail, place: Place<TailReader>): void {
    tail.readers.remove(place);
    if (tail.readers.size === 0) this.#forget(taskId, tail);
    if (this.#tails.size > 0) return;
    this.#poll?.cancel();
    this.#poll = undefined;
  }

  async page(taskId: string, tail: Tail, from: number): Promise<readonly Entry[]> {
    const { read, pageSize, runtime } = this.#options;
    const page = await read(taskId, from - 1, pageSize);
    runtime.at("follow.read");
    // A short page ends where the log does: the others needn't read it again.
    if (page.length < pageSize) tail.absorb(page);
    return page;
  }

  #begin(taskId: string): Tail {
    const tail = new Tail({ entries: this.#options.ringSize, bytes: RING_BYTES });
    this.#tails.set(taskId, tail);
    this.#armPoll();
    return tail;
  }

  #forget(taskId: string, tail: Tail): void {
    if (this.#tails.get(taskId) === tail) this.#tails.delete(taskId);
    tail.forget();
  }

  /** The log goes up to `position` at least, and the tail isn't there. */
  async #readOn(taskId: string, tail: Tail, position: number): Promise<void> {
    const { ringSize, read, runtime, logger } = this.#options;
    if (tail.last === 0 || position - tail.last > ringSize) {
      tail.jump(position);
      return;
    }
    const wanted = this.#reading.get(tail);
    this.#reading.set(tail, Math.max(wanted ?? 0, position));
    if (wanted !== undefined) return;
    try {
      while (tail.last < (this.#reading.get(tail) ?? 0)) {
        const page = await read(taskId, tail.last, ringSize);
        runtime.at("follow.read");
        if (page.length === 0) break;
        tail.absorb(page);
      }
    } catch (error) {
      if (!this.#closed) logger.warn({ err: error, taskId }, "A task couldn't be read on; the next poll tries again");
    } finally {
      this.#reading.delete(tail);
    }
  }

  #armPoll(): void {
    if (this.#poll !== undefined || this.#closed || this.#tails.size === 0) return;
    const poll = this.#options.runtime.after(this.#options.pollMs, async () => {
      await this.#pollNow();
      // Unless the last reader has left meanwhile, and perhaps another has come.
      if (this.#poll === poll) this.#poll = undefined;
      this.#armPoll();
    });
    this.#poll = poll;
  }

  async #pollNow(): Promise<void> {
    try {
      const positions = await this.#options.positions([...this.#tails.keys()]);
      for (const [taskId, position] of positions) {
        const tail = this.#tails.get(taskId);
        if (tail !== undefined && position > tail.last) void this.#readOn(taskId, tail, position);
      }
    } catch (error) {
      if (!this.#closed) this.#options.logger.warn({ err: error }, "Followed tasks couldn't be polled");
    }
  }
}
