import type { Task, TaskState } from "../a2a/types.js";
import { everyOwner, type Journal, type LoadedTask } from "../journal/journal.js";

/**
 * The task as of the first entry after `position` that brings it into a state in which the wait is over (§3.2.2).
 * @throws the signal's reason when the caller goes away first. The task goes on.
 */
export async function untilState(
  journal: Journal,
  wanted: { taskId: string; position: number; isOver: (state: TaskState) => boolean; signal: AbortSignal | undefined },
): Promise<Task> {
  const { taskId, position, isOver, signal } = wanted;
  const at = await new Promise<number>((resolve, reject) => {
    const leave = journal.watch(
      taskId,
      position,
      {
        entry({ position, event: { kind } }) {
          if (kind.case !== "statusUpdated" || !isOver(kind.value.state)) return;
          leave();
          resolve(position);
        },
        ended: (error) =>
          reject(error ?? signal?.reason ?? new Error("The journal was closed while a call waited for its task")),
      },
      signal,
    );
  });
  return (await loadAt(journal, taskId, at)).task;
}

/** A task that is known to exist, at a position that is known to be in its log. */
export async function loadAt(journal: Journal, taskId: string, position: number): Promise<LoadedTask> {
  const loaded = await journal.load(taskId, everyOwner, position);
  if (loaded === undefined) throw new Error(`Task ${taskId} has left the journal while it was worked on`);
  return loaded;
}
