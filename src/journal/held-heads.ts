import type { StoredHead } from "./schema.js";

/**
 * Heads of the tasks that an instance works on, as its own last commit left them. They hold for as long as nobody else commits: whoever
 * asks first compares the database's version.
 */
export class HeldHeads {
  readonly #heads = new Map<string, { head: StoredHead | undefined }>();
  #version: unknown;

  /** Forgets all if the database isn't as it was. */
  compare(version: unknown): void {
    if (version !== this.#version) this.forget();
    this.#version = version;
  }

  get(taskId: string): StoredHead | undefined {
    return this.#heads.get(taskId)?.head;
  }

  /** A head as it was committed. */
  keep(head: StoredHead, instance: string): void {
    const { taskId } = head;
    const kept = this.#heads.get(taskId);
    if (head.holder !== instance) {
      this.#heads.delete(taskId);
      if (kept !== undefined) kept.head = undefined; // a Map's old tables outlive what lies in them (see Bag)
    } else if (kept === undefined) {
      this.#heads.set(taskId, { head });
    } else {
      kept.head = head;
    }
  }

  forget(): void {
    this.#heads.clear();
  }
}
