import type { Task } from "../a2a/types.js";

/** What of a task goes to a caller. */
export interface View {
  /** At most so many of the newest messages; 0: none (§3.2.4). */
  readonly history: number;
  /** Default true. */
  readonly artifacts?: boolean;
}

/** The task as a caller sees it: a copy of its own, with the newest history (§3.2.4). */
export function viewOf(task: Task, { history, artifacts = true }: View): Task {
  return {
    ...task,
    history: history === 0 ? [] : task.history.slice(-history),
    artifacts: artifacts ? task.artifacts : [],
  };
}
