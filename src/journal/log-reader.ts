import type { Place } from "../runtime/bag.js";
import type { Entry } from "./event.js";
import type { Listener, StoredEvent } from "./journal.js";
import type { Tail, TailReader } from "./tail.js";

/** Where readers find the tails, and what no tail has. */
export interface LogSource {
  readonly closed: boolean;
  /** A page shorter than this ends where the log does. */
  readonly pageSize: number;
  join(taskId: string, reader: TailReader): { readonly tail: Tail; readonly place: Place<TailReader> };
  leave(taskId: string, tail: Tail, place: Place<TailReader>): void;
  /** A reader has joined, and reads nothing before this. */
  armed(): void;
  /** Entries from a position on. */
  page(taskId: string, tail: Tail, from: number): Promise<readonly Entry[]>;
}

type Step = IteratorResult<StoredEvent, undefined>;
const resolved = Promise.resolve();

/**
 * Reads one log from a position on: from its task's tail, or in pages of its own where it is behind. Its reader pulls (`next`), or is
 * told (`tell`). It ends when the signal aborts, the reader leaves, or the source is closed.
 *
 * | it is   | when                                                                              | and then             |
 * | ------- | --------------------------------------------------------------------------------- | -------------------- |
 * | at hand | the page or the tail has the next entry                                           | hands it over        |
 * | behind  | the tail begins later or knows nothing, or the log may go on where it hasn't seen | reads a page         |
 * | at end  | the tail ends before the next entry, or nothing is known and the page was empty   | waits for a change   |
 * | over    | it has left, the signal has aborted, or the source is closed                      | leaves, and says so  |
 */
export class LogReader implements TailReader, AsyncIterableIterator<StoredEvent, undefined> {
  readonly #source: LogSource;
  readonly #taskId: string;
  readonly #signal: AbortSignal | undefined;
  #next: number;
  #joined: { readonly tail: Tail; readonly place: Place<TailReader> } | undefined;
  #left = false;
  #page: readonly Entry[] = [];
  #pageAt = 0;
  /** The log may go on where this process hasn't seen it. */
  #mustRead = false;
  /** The last page was empty, and nothing is known of the log: there is nothing to do but wait. */
  #dry = false;
  #onChange: (() => void) | undefined;
  #listener: Listener | undefined;

  constructor(source: LogSource, taskId: string, after: number, signal: AbortSignal | undefined) {
    this.#source = source;
    this.#taskId = taskId;
    this.#next = after + 1;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next entry, when there is one. One call at a time. */
  next(): Promise<Step> {
    const entry = this.#joined === undefined ? undefined : this.#take();
    return entry === undefined ? this.#wait() : Promise.resolve({ value: entry, done: false });
  }

  return(): Promise<Step> {
    this.leave();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** Tells a listener of each entry, in turns of its own; not from within this call. */
  tell(listener: Listener): void {
    this.#listener = listener;
    this.#join();
    this.#pumpSoon();
  }

  /** Ends it. Whoever waits is told. */
  leave(): void {
    this.#left = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (this.#joined !== undefined) this.#source.leave(this.#taskId, this.#joined.tail, this.#joined.place);
    this.#joined = undefined;
    this.#listener = undefined;
    this.wake();
  }

  /** There may be more, or it is over. */
  wake(): void {
    const act = this.#onChange;
    this.#onChange = undefined;
    act?.();
  }

  get #over(): boolean {
    return this.#left || this.#source.closed || this.#signal?.aborted === true;
  }

  readonly #onAbort = (): void => this.wake();

  /** Registered first, then read: what is committed in between is in one or the other. */
  #join(): void {
    if (this.#joined !== undefined || this.#over) return;
    this.#signal?.addEventListener("abort", this.#onAbort);
    this.#joined = this.#source.join(this.#taskId, this);
    this.#source.armed();
    const { tail } = this.#joined;
    // What is worked on here is written here, but for a message now and then: that may wait for the poll.
    this.#mustRead = !tail.held || tail.last < this.#next - 1;
  }

  /** The next entry that is at hand. */
  #take(): Entry | undefined {
    if (this.#joined === undefined || this.#over) return undefined;
    let entry = this.#page[this.#pageAt];
    if (entry !== undefined) {
      this.#pageAt++;
    } else {
      const found = this.#joined.tail.at(this.#next);
      if (typeof found !== "object") return undefined;
      entry = found;
    }
    this.#next++;
    return entry;
  }

  async #wait(): Promise<Step> {
    try {
      this.#join();
      while (!this.#over) {
        const entry = this.#take();
        if (entry !== undefined) return { value: entry, done: false };
        if (this.#isBehind()) await this.#read();
        else await new Promise<void>((resolve) => this.#whenChanged(resolve));
      }
    } catch (error) {
      this.leave();
      throw error;
    }
    return this.return();
  }

  /** Tells the listener of what is at hand, and arranges for the rest. */
  readonly #pump = (): void => {
    const listener = this.#listener;
    if (listener === undefined) return;
    try {
      for (let entry = this.#take(); entry !== undefined; entry = this.#take()) listener.entry(entry);
    } catch (error) {
      this.#endWith(error);
      return;
    }
    if (this.#over) this.#endWith(undefined);
    else if (this.#isBehind()) this.#read().then(this.#pump, (error: unknown) => this.#endWith(error));
    else this.#whenChanged(this.#pumpSoon);
  };

  /** Not within the commit that woke it: a listener may do anything. */
  readonly #pumpSoon = (): void => void resolved.then(this.#pump);

  #endWith(error: unknown): void {
    const listener = this.#listener;
    this.leave();
    listener?.ended(error);
  }

  #whenChanged(act: () => void): void {
    this.#dry = false;
    this.#onChange = act;
  }

  #isBehind(): boolean {
    if (this.#joined === undefined) return false;
    const { tail } = this.#joined;
    if (this.#dry && tail.last === 0) return false;
    return this.#mustRead || tail.at(this.#next) === "behind";
  }

  async #read(): Promise<void> {
    if (this.#joined === undefined) return;
    try {
      this.#page = await this.#source.page(this.#taskId, this.#joined.tail, this.#next);
    } catch (error) {
      if (this.#over) return; // a journal that is being closed can't be read
      throw error;
    }
    this.#pageAt = 0;
    this.#mustRead = this.#page.length === this.#source.pageSize;
    this.#dry = this.#page.length === 0;
  }
}
