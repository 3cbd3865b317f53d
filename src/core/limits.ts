import { A2AError } from "../a2a/errors.js";

/** How much history goes with a task when the caller doesn't say (§3.2.4). */
export const DEFAULT_HISTORY = 100;
/** The same in a list. */
export const DEFAULT_LIST_HISTORY = 10;
/** Tasks on a page of a list when the caller doesn't say (§3.1.4). */
export const DEFAULT_PAGE_SIZE = 50;
/** A page of tasks ends early when it gets larger, with at least one task. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** A direct reply that takes longer is an error of the agent. */
export const REPLY_TIMEOUT_MS = 30_000;
/** Tasks that one message may refer to. */
export const MAX_REFERENCES = 20;

/** TASK_NOT_FOUND, in one and the same words whether the task never existed or isn't the caller's (§3.3.2). */
export function taskNotFound(): A2AError {
  return new A2AError("TASK_NOT_FOUND");
}
