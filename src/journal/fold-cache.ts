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

/** What is kept of a task. It changes in place: see `#forget`. */
interface Kept {
  task: Task | undefined;
  at: number;
  bytes: number;
  /** The entries that follow, folded in when somebody asks. */
  pending: Entry[];
}

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
    const entries = at + pending.length <= position ? pending : pending.slice(0, position - at);
    if (entries.length === 0) return { task, at, bytes };
    const folded = { task: fold(task, entries), at: at + entries.length, bytes };
    // An old position is asked for once; the newest again and again.
    if (entries === pending) this.#keep(taskId, Object.assign(kept, folded, { pending: [] }), 0);
    return folded;
  }

  /** Keeps what a reader folded, unless something newer is here. */
  put(taskId: string, { task, at, bytes }: Folded): void {
    const kept = this.#tasks.get(taskId);
    if (kept !== undefined && kept.at + kept.pending.length >= at) return;
    if (kept !== undefined) this.#forget(taskId, kept);
    this.#keep(taskId, { task, at, bytes: 0, pending: [] }, bytes);
  }

  /** Entries were committed. Continues a task that is here, and begins one that is new. */
  add(taskId: string, entries: readonly Entry[]): void {
    const [first] = entries;
    const kept = this.#tasks.get(taskId) ?? { task: undefined, at: 0, bytes: 0, pending: [] };
    if (first?.position !== kept.at + kept.pending.length + 1) return;
    let bytes = 0;
    for (const entry of entries) {
      kept.pending.push(entry);
      bytes += entry.size;
    }
    this.#keep(taskId, kept, bytes);
  }

  #keep(taskId: string, kept: Kept, moreBytes: number): void {
    kept.bytes += moreBytes;
    this.#bytes += moreBytes;
    // A Map keeps the order of insertion: its first is the one that was longest not used.
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, kept);
    for (const [oldest, dropped] of this.#tasks) {
      if (this.#tasks.size <= this.#limits.tasks && this.#bytes <= this.#limits.bytes) break;
      this.#forget(oldest, dropped);
    }
  }

  /** Empties it as well: a Map's old tables live as long as the oldest of them, and mustn't hold tasks (see Bag). */
  #forget(taskId: string, dropped: Kept): void {
    this.#tasks.delete(taskId);
    this.#bytes -= dropped.bytes;
    dropped.task = undefined;
    dropped.pending = [];
  }
}
