import type { Artifact, Message, Task, TaskStatus } from "./types.js";

/**
 * A task on the way to its next version. What readers hold never changes: it owns the task itself, and of the rest only what it has
 * copied, so that several changes copy once.
 */
export class TaskDraft {
  readonly task: Task;
  readonly #owned = new Set<object>();

  constructor(task: Task) {
    this.task = { ...task };
  }

  /** A message answers what the status said before it: the question goes into the history first, so that both stand in order. */
  hear(message: Message): void {
    const { status } = this.task;
    if (status?.message !== undefined) {
      this.#supersedeStatus();
      this.task.status = { ...status, message: undefined };
    }
    this.#ownHistory().push(message);
  }

  /** Another status; what the one before it said becomes history (§3.7). */
  become(status: TaskStatus): void {
    this.#supersedeStatus();
    this.task.status = status;
  }

  /** `append` false creates or replaces the artifact, true adds to it, or creates it (§4.2.2). */
  write(artifact: Artifact, append: boolean): void {
    this.task.artifacts = this.#own(this.task.artifacts);
    const { artifacts } = this.task;
    // From the end: a chunk nearly always belongs to the newest artifact.
    const index = artifacts.findLastIndex(({ artifactId }) => artifactId === artifact.artifactId);
    const old = artifacts[index];
    if (old === undefined) artifacts.push(artifact);
    else artifacts[index] = append ? this.#extend(old, artifact) : artifact;
  }

  #supersedeStatus(): void {
    const said = this.task.status?.message;
    if (said !== undefined) this.#ownHistory().push(said);
  }

  #ownHistory(): Message[] {
    this.task.history = this.#own(this.task.history);
    return this.task.history;
  }

  #extend(old: Artifact, more: Artifact): Artifact {
    let whole = old;
    if (!this.#owned.has(old)) {
      whole = { ...old };
      this.#owned.add(whole);
    }
    whole.parts = this.#own(whole.parts);
    for (const part of more.parts) whole.parts.push(part);
    if (more.name !== "") whole.name = more.name;
    if (more.description !== "") whole.description = more.description;
    if (more.metadata !== undefined) whole.metadata = { ...whole.metadata, ...more.metadata };
    const added = more.extensions.filter((uri) => !whole.extensions.includes(uri));
    if (added.length > 0) whole.extensions = [...whole.extensions, ...added];
    return whole;
  }

  #own<T>(list: T[]): T[] {
    if (this.#owned.has(list)) return list;
    const copy = [...list];
    this.#owned.add(copy);
    return copy;
  }
}
