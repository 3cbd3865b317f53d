import type { CallError } from "../client/outcome.js";

/** A call failed, and it isn't known whether the agent acted. Exit code 4. */
export class UnknownOutcome extends Error {
  /** The agent's address, as it was written. */
  readonly target: string;

  constructor(target: string, cause: CallError) {
    super(cause.message, { cause });
    this.name = "UnknownOutcome";
    this.target = target;
  }
}
