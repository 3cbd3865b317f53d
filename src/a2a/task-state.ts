import { TaskState } from "./types.js";

/** Terminal: nothing changes the task any more (§4.1.3). */
export function isTerminal(state: TaskState): boolean {
  switch (state) {
    case TaskState.COMPLETED:
    case TaskState.FAILED:
    case TaskState.CANCELED:
    case TaskState.REJECTED:
      return true;
    default:
      return false;
  }
}

/** Interrupted: the task waits for its caller (§3.2.2). */
export function isInterrupted(state: TaskState): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}

/** Terminal or interrupted: where a blocking send returns (§3.2.2). */
export function isSettled(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}
