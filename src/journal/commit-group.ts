import { A2AError } from "../a2a/errors.js";
import { nextLoop } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Outcome, Prepared } from "./append-group.js";

/** How groups are committed, and who hears of it. */
export interface CommitOptions {
  readonly runtime: Runtime;
  /** Members of a group at most. */
  readonly groupSize: number;
  /** See `JournalDatabase.appendGroup`. */
  readonly commit: (group: readonly Prepared[]) => Promise<readonly Outcome[]>;
  readonly isBusy: (error: unknown) => boolean;
  /** Hears of each member that was committed, in order, before its caller does. */
  readonly onCommitted: (outcome: Outcome) => void;
}

interface Waiting {
  readonly member: Prepared;
  readonly settle: (outcome: Outcome) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Collects what waits in one turn of the event loop into groups that are committed together. A task's appends keep their order, and
 * a group holds at most one of a task and one of a key: the later ones wait for the next.
 */
export class CommitGroups {
  readonly #options: CommitOptions;
  /** What waits, by task; first come, first served between tasks. */
  readonly #lanes = new Map<string, Waiting[]>();
  #running: Promise<void> | undefined;

  constructor(options: CommitOptions) {
    this.#options = options;
  }

  submit(member: Prepared): Promise<Outcome> {
    return new Promise((settle, fail) => {
      const lane = laneOf(member);
      const waiting = { member, settle, fail };
      const queue = this.#lanes.get(lane);
      if (queue === undefined) this.#lanes.set(lane, [waiting]);
      else queue.push(waiting);
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits any more. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#lanes.size > 0) {
      await nextLoop(this.#options.runtime);
      await this.#commit(this.#nextGroup());
    }
    this.#running = undefined;
  }

  #nextGroup(): Waiting[] {
    const group: Waiting[] = [];
    const keys = new Set<string>();
    const later: [string, Waiting[]][] = [];
    for (const [lane, queue] of this.#lanes) {
      if (group.length === this.#options.groupSize) break;
      const [first] = queue;
      const key = first && keyOf(first.member);
      if (first === undefined || (key !== undefined && keys.has(key))) continue;
      if (key !== undefined) keys.add(key);
      group.push(first);
      queue.shift();
      this.#lanes.delete(lane);
      if (queue.length > 0) later.push([lane, queue]);
    }
    for (const [lane, queue] of later) this.#lanes.set(lane, queue);
    return group;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.#options.commit(group.map(({ member }) => member));
    } catch (error) {
      const [first, ...rest] = group;
      // One member may have spoiled it for all: each gets its own transaction, and its own error.
      if (rest.length > 0 && !this.#options.isBusy(error)) for (const alone of group) await this.#commit([alone]);
      else for (const waiting of [first, ...rest]) waiting?.fail(failed(error));
      return;
    }
    this.#announce(group, outcomes);
  }

  #announce(group: readonly Waiting[], outcomes: readonly Outcome[]): void {
    try {
      this.#options.runtime.at("append.after-commit");
      for (const outcome of outcomes) this.#options.onCommitted(outcome);
    } catch (error) {
      // It is committed, and only the answer is lost.
      for (const { fail } of group) fail(failed(error));
      return;
    }
    for (const [index, { settle, fail }] of group.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined) fail(failed(new Error("A member of a group has no outcome")));
      else settle(outcome);
    }
  }
}

function laneOf(member: Prepared): string {
  return member.kind === "append" ? member.request.taskId : `reply ${hex(member.key)}`;
}

function keyOf(member: Prepared): string | undefined {
  const key = member.kind === "append" ? member.request.key : member.key;
  return key && hex(key);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

function failed(cause: unknown): A2AError {
  return cause instanceof A2AError ? cause : new A2AError("INTERNAL", "The task journal failed", { cause });
}
