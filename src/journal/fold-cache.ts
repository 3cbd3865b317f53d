import type { Task } from "../a2a/types.js";
import type { Entry } from "./event.js";
import { fold } from "./projection.js";

/** A task as of a position. */
export interface Folded {
  /** None before the first entry. */
  readonly task: Task | undefined;
  readonly at: number;
  /** Of the encoded entries: about what the task holds. */
  readonly bytes: number;
}

interface Kept extends Folded {
  /** The entries that follow, folded in when somebody asks. */
  readonly pending: Entry[];
}

const NOTHING: Folded = { task: undefined, at: 0, bytes: 0 };

/**
 * Tasks that were lately at work, folded. What it holds is a fold of the entries 1…at of a log that only grows, so it is never wrong,
 * only old: whoever asks names the position, and reads on from where it stands.
 */
export class FoldCache {
  readonly #tasks = new Map<string, Kept>();
  readonly #limits: { readonly tasks: number; readonly bytes: number };
  #bytes = 0;

  constructor(limits: { readonly tasks: number; readonly bytes: number }) {
    this.#limits = limits;
  }

  /** The task as of the newest position up to `position` that is at hand. */
  get(taskId: string, position: number): Folded | undefined {
    const kept = this.#tasks.get(taskId);
    if (kept === undefined || kept.at > position) return undefined;
    const { task, at, bytes, pending } = kept;
    const entries = pending.slice(0, position - at);
    if (entries.length === 0) return kept;
    const folded = { task: fold(task, entries), at: at + entries.length, bytes };
    // An old position is asked for once; the newest again and again.
    if (entries.length === pending.length) this.#store(taskId, { ...folded, pending: [] });
    return folded;
  }

  /** Keeps what a reader folded, unless something newer is here. */
  put(taskId: string, folded: Folded): void {
    const kept = this.#tasks.get(taskId);
    if (kept === undefined || kept.at + kept.pending.length < folded.at)
      this.#store(taskId, { ...folded, pending: [] });
  }

  /** Entries were committed. Continues a task that is here, and begins one that is new. */
  add(taskId: string, entries: readonly Entry[]): void {
    const [first] = entries;
    const kept = this.#tasks.get(taskId) ?? { ...NOTHING, pending: [] };
    if (first?.position !== kept.at + kept.pending.length + 1) return;
    for (const entry of entries) kept.pending.push(entry);
    const bytes = kept.bytes + entries.reduce((sum, { size }) => sum + size, 0);
    this.#store(taskId, { ...kept, bytes });
  }

  #store(taskId: string, kept: Kept): void {
    this.#bytes += kept.bytes - (this.#tasks.get(taskId)?.bytes ?? 0);
    // A Map keeps the order of insertion: its first is the one that was longest not used.
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, kept);
    for (const [oldest, { bytes }] of this.#tasks) {
      if (this.#tasks.size <= this.#limits.tasks && this.#bytes <= this.#limits.bytes) break;
      this.#tasks.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}
