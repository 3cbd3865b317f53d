import { TaskState } from "./types.js";

/** Terminal: nothing changes the task any more (§4.1.3). */
export function isTerminal(state: TaskState | undefined): boolean {
  return state === TaskState.COMPLETED || endedBadly(state);
}

/** Terminal, and what was asked for wasn't done (§4.1.3). */
export function endedBadly(state: TaskState | undefined): boolean {
  return state === TaskState.FAILED || state === TaskState.CANCELED || state === TaskState.REJECTED;
}

/** Interrupted: the task waits for its caller (§3.2.2). */
export function isInterrupted(state: TaskState | undefined): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}

/** Terminal or interrupted: where a blocking send returns (§3.2.2). */
export function isSettled(state: TaskState | undefined): boolean {
  return isTerminal(state) || isInterrupted(state);
}
