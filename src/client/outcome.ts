import { contentOf } from "../a2a/content.js";
import { A2AError, type A2AErrorOptions } from "../a2a/errors.js";
import { type Task, TaskState } from "../a2a/types.js";
import { HttpAnswer } from "../bindings/wire-error.js";
import { neverConnected } from "../runtime/unreachable.js";

/** Whether the peer acted. `not-sent`: it didn't. `unknown`: it may have. `done`: it did, and the task says how it ended. */
export type Outcome = "not-sent" | "unknown" | "done";

const BRAND = Symbol.for("nuncio.CallError");

class FailedCall extends A2AError {
  readonly outcome: Outcome;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly task: Task | undefined;

  constructor(
    reason: string,
    message: string,
    { outcome, task, ...options }: A2AErrorOptions & { outcome: Outcome; task?: Task },
  ) {
    super(reason, message, options);
    const answer = options.cause instanceof HttpAnswer ? options.cause : undefined;
    this.name = "CallError";
    this.outcome = outcome;
    this.task = task;
    this.status = answer?.status;
    this.retryAfterMs = millisecondsOf(options.metadata?.retryAfterMs) ?? answer?.retryAfterMs;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Every failure of a call (an abort isn't one: it rejects with the signal's reason). */
export type CallError = A2AError & {
  /** HTTP status, if there was one. */
  readonly status: number | undefined;
  /** When the peer wants to be asked again, if it says so: our own says it in `ErrorInfo`, others in `Retry-After`. */
  readonly retryAfterMs: number | undefined;
} & (
    | { readonly outcome: "not-sent" | "unknown"; readonly task?: undefined }
    | { readonly outcome: "done"; readonly task: Task }
  );

/** For `instanceof`; across copies of the package. */
export const CallError: { [Symbol.hasInstance](value: unknown): value is CallError } = {
  [Symbol.hasInstance]: (value: unknown): value is CallError =>
    typeof value === "object" && value !== null && BRAND in value,
};

/** What is known when a call fails: a refusal was judged before anything was done, all else may have happened. */
const ACTED: ReadonlySet<string> = new Set(["INTERNAL", "INVALID_AGENT_RESPONSE", "UNAVAILABLE"]);

/**
 * The failure of a call, with what is known.
 * @param known what is known whatever the error is: before the first call nothing was sent.
 */
export function callError(error: unknown, known?: "not-sent"): Error {
  if (error instanceof CallError) return error;
  if (error instanceof A2AError) {
    const { reason, message, violations, details, metadata, cause } = error;
    const outcome = known ?? (ACTED.has(reason) && !neverConnected(cause) ? "unknown" : "not-sent");
    return new FailedCall(reason, message, { outcome, violations, details, metadata, cause });
  }
  const outcome = known ?? (neverConnected(error) ? "not-sent" : "unknown");
  return new FailedCall("INTERNAL", messageOf(error), { outcome, cause: error });
}

/** How far a stream came. */
export interface StreamProgress {
  /** The task that it told of; empty while it told of none. */
  readonly taskId: string;
  /** Of its last event that had one: where `subscribe` goes on. */
  readonly position: string | undefined;
}

/**
 * The failure of a stream that had begun: the peer has acted, whatever the error says. `metadata` has the `taskId` and the `position` to
 * go on from.
 */
export function begunStreamFailed(error: unknown, progress: StreamProgress): Error {
  const failed = callError(error);
  if (!(failed instanceof CallError) || failed.outcome === "done") return failed;
  const { reason, message, violations, details, cause } = failed;
  const metadata = { ...failed.metadata, ...whereabouts(progress) };
  return new FailedCall(reason, message, { outcome: "unknown", violations, details, metadata, cause });
}

/** The failure of a stream that ended while its task went on. */
export function streamCut(progress: StreamProgress, cause?: unknown): Error {
  const { taskId, position } = progress;
  const after = position === undefined ? "" : `, { after: ${JSON.stringify(position)} }`;
  const message =
    taskId === ""
      ? "The stream ended before its task did; look for the task before you send again"
      : `The stream ended before its task did; go on with subscribe(${JSON.stringify(taskId)}${after}), don't send again`;
  return new FailedCall("UNAVAILABLE", message, { outcome: "unknown", metadata: whereabouts(progress), cause });
}

function whereabouts({ taskId, position }: StreamProgress): Record<string, string> {
  return { ...(taskId === "" ? {} : { taskId }), ...(position === undefined ? {} : { position }) };
}

function millisecondsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** `fetch failed` alone helps nobody: its cause says why. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  return `${error.message}: ${cause.message === "" ? code : cause.message}`;
}

/** The failure of a call whose task ended without doing what was asked (§4.1.3). */
export function taskEnded(task: Task): Error {
  const state = task.status?.state ?? TaskState.UNSPECIFIED;
  const said = task.status?.message === undefined ? "" : contentOf(task.status.message).text;
  return new FailedCall("TASK_ENDED", said === "" ? `The task ended ${TaskState[state]}` : said, {
    outcome: "done",
    task,
  });
}
