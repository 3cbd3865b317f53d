import type { Logger } from "../runtime/logger.js";
import type { Runtime, Timer } from "../runtime/runtime.js";
import type { Entry } from "./event.js";
import type { StoredEvent } from "./journal.js";
import { type Cursor, Tail } from "./tail.js";

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
export class Tails {
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

  /** See `Journal.follow`. */
  follow(taskId: string, after: number, signal?: AbortSignal): AsyncIterableIterator<StoredEvent> {
    const cursor: Cursor = { wake: undefined, left: false };
    const entries = this.#entries(taskId, after, cursor, signal);
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: () => entries.next(),
      // Of a generator that is parked, `return` alone would wait until it moves.
      return: () => {
        cursor.left = true;
        cursor.wake?.();
        return entries.return(undefined);
      },
    };
  }

  /**
   * This process has committed these entries of a task. One that is worked on here (`held`) will be followed: its tail is begun with
   * them, so that whoever comes finds them without a read.
   */
  offer(taskId: string, entries: readonly Entry[], held = false): void {
    const newest = entries.at(-1);
    const known = this.#tails.get(taskId);
    if (known?.cursors.size === 0 && !held) this.#tails.delete(taskId);
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

  async *#entries(
    taskId: string,
    after: number,
    cursor: Cursor,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StoredEvent, undefined> {
    const over = () => this.#closed || cursor.left || signal?.aborted === true;
    if (over()) return;
    const wake = () => cursor.wake?.();
    signal?.addEventListener("abort", wake);
    const tail = this.#join(taskId, cursor);
    try {
      // Registered first, then read: what is committed in between is in one or the other.
      this.#options.runtime.at("follow.armed");
      let next = after + 1;
      // What is worked on here is written here, but for a message now and then: that may wait for the poll.
      let mustRead = !tail.held || tail.last < after;
      while (!over()) {
        const found = tail.at(next);
        if (typeof found === "object") {
          yield found;
          next++;
        } else if (mustRead || found === "behind") {
          const page = await this.#page(taskId, tail, next, over);
          for (const entry of page) {
            if (over()) return;
            yield entry;
          }
          next += page.length;
          mustRead = page.length === this.#options.pageSize;
          // While it read, the tail may have learned of something, or the caller have gone.
          if (page.length === 0 && tail.last === 0 && !over()) await tail.changed(cursor);
        } else {
          await tail.changed(cursor);
        }
      }
    } finally {
      signal?.removeEventListener("abort", wake);
      this.#leave(taskId, tail, cursor);
    }
  }

  async #page(taskId: string, tail: Tail, next: number, over: () => boolean): Promise<readonly Entry[]> {
    const { read, pageSize, runtime } = this.#options;
    let page: readonly Entry[];
    try {
      page = await read(taskId, next - 1, pageSize);
    } catch (error) {
      // A journal that is being closed ends its readers without an error.
      if (over()) return [];
      throw error;
    }
    runtime.at("follow.read");
    // A short page ends where the log does: the others needn't read it again.
    if (page.length < pageSize) tail.absorb(page);
    return page;
  }

  #join(taskId: string, cursor: Cursor): Tail {
    const tail = this.#tails.get(taskId) ?? this.#begin(taskId);
    tail.cursors.add(cursor);
    return tail;
  }

  #begin(taskId: string): Tail {
    const tail = new Tail({ entries: this.#options.ringSize, bytes: RING_BYTES });
    this.#tails.set(taskId, tail);
    this.#armPoll();
    return tail;
  }

  #leave(taskId: string, tail: Tail, cursor: Cursor): void {
    tail.cursors.delete(cursor);
    if (tail.cursors.size === 0 && this.#tails.get(taskId) === tail) this.#tails.delete(taskId);
    if (this.#tails.size > 0) return;
    this.#poll?.cancel();
    this.#poll = undefined;
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
