import { Bag } from "../runtime/bag.js";
import type { Entry } from "./event.js";

/** A reader that may be parked until its tail changes. */
export interface TailReader {
  wake(): void;
}

/**
 * What an instance knows of the end of one followed log: its newest entries, without a gap, and who waits for more. Everything here
 * is what was committed, never what was announced.
 */
export class Tail {
  readonly readers = new Bag<TailReader>();
  /** The task is worked on in this process. */
  held = false;
  readonly #limits: { readonly entries: number; readonly bytes: number };
  #ring: Entry[] = [];
  #bytes = 0;
  /** Of the newest entry that is known; 0 while none is. */
  #last = 0;

  constructor(limits: { readonly entries: number; readonly bytes: number }) {
    this.#limits = limits;
  }

  /** Of the newest entry that is known; 0 while none is. */
  get last(): number {
    return this.#last;
  }

  /** Where a reader of `position` stands: the entry, `"end"` if it isn't known to exist yet, `"behind"` if it must be read. */
  at(position: number): Entry | "behind" | "end" {
    if (this.#last === 0) return "behind";
    if (position > this.#last) return "end";
    return this.#ring[position - (this.#last - this.#ring.length + 1)] ?? "behind";
  }

  /** Takes in entries, and wakes the readers if any is new. False: there is a gap before them, and they were left out. */
  absorb(entries: readonly Entry[]): boolean {
    const first = entries.find(({ position }) => position > this.#last);
    if (first === undefined) return true;
    if (this.#last > 0 && first.position !== this.#last + 1) return false;
    for (const entry of entries) {
      if (entry.position <= this.#last) continue;
      this.#ring.push(entry);
      this.#bytes += entry.size;
      this.#last = entry.position;
    }
    this.#trim();
    this.wake();
    return true;
  }

  /** Forgets all but where the log ends; the readers page up to there on their own. */
  jump(position: number): void {
    this.#ring = [];
    this.#bytes = 0;
    this.#last = position;
    this.wake();
  }

  wake(): void {
    this.readers.each(wake);
  }

  /** Nobody reads it any more: lets go of what it has. */
  forget(): void {
    this.#ring = [];
    this.#bytes = 0;
    this.#last = 0;
  }

  #trim(): void {
    while (this.#ring.length > this.#limits.entries || (this.#ring.length > 1 && this.#bytes > this.#limits.bytes)) {
      this.#bytes -= this.#ring.shift()?.size ?? 0;
    }
  }
}

function wake(reader: TailReader): void {
  reader.wake();
}
