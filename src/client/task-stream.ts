import { type ContentView, contentOf } from "../a2a/content.js";
import { A2AError } from "../a2a/errors.js";
import { positionOf } from "../a2a/position.js";
import { isInterrupted, isSettled } from "../a2a/task-state.js";
import type { StreamResponse, Task, TaskState } from "../a2a/types.js";
import { begunStreamFailed, callError, type StreamProgress, streamCut } from "./outcome.js";
import { assertEndedWell, type Reply, taskReply } from "./reply.js";
import { TaskFold } from "./task-fold.js";

/** One event, read. Switch on `payload.case`; `text` is what this event adds; `task` is the Task with it folded in. */
export interface StreamEvent extends ContentView {
  readonly payload: StreamResponse["payload"];
  readonly task: Task | undefined;
  readonly state: TaskState | undefined;
  /** Where to resume: `subscribe(id, { after })`. `undefined` if the peer doesn't offer it. */
  readonly position: string | undefined;
}

/**
 * Events as they arrive, read in one of three ways. `break` lets the socket go, not the task. The events report how the task ends;
 * `text` and `reply` reject as `send` does. Once the first event is there, no failure is `not-sent`.
 *
 * All three throw a CallError `unknown`, UNAVAILABLE, when the stream ends while the task goes on: its `metadata` has the `taskId` and the
 * `position` for `subscribe`. An abort throws the signal's reason.
 */
export interface TaskStream extends AsyncIterable<StreamEvent> {
  /** The answer's text alone, as it grows. */
  readonly text: AsyncIterable<string>;
  /** Reads to the end. */
  reply(): Promise<Reply>;
}

/**
 * A stream that is opened when it is first read.
 * @param signal the caller's, if it aborts what `open` gives.
 */
export function createTaskStream(open: () => AsyncIterable<StreamResponse>, signal?: AbortSignal): TaskStream {
  const events = (): AsyncGenerator<StreamEvent, void, void> => readEvents(open, signal);
  return {
    [Symbol.asyncIterator]: events,
    get text() {
      return textOf(events());
    },
    async reply() {
      let last: StreamEvent | undefined;
      for await (const event of events()) last = event;
      return replyFrom(last);
    },
  };
}

async function* readEvents(
  open: () => AsyncIterable<StreamResponse>,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent, void, void> {
  let fold: TaskFold | undefined;
  let progress: Progress | undefined;
  let failure: unknown;
  try {
    for await (const response of open()) {
      const { payload } = response;
      // Before the first Task there is nothing to fold into.
      if (fold !== undefined || payload.case === "task") fold = new TaskFold(fold, response);
      progress = progressAfter(progress, response);
      const now = fold;
      yield {
        ...addedBy(response),
        payload,
        get task() {
          return now?.task;
        },
        state: now?.state,
        position: positionOf(response),
      };
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (progress === undefined) throw callError(error);
    if (!isDraining(error)) throw begunStreamFailed(error, progress);
    failure = error;
  }
  if (progress === undefined) throw endedBeforeItBegan();
  if (progress.isOver) return;
  signal?.throwIfAborted();
  throw streamCut(progress, failure);
}

interface Progress extends StreamProgress {
  /** Whether a stream may end here: with a Message, or with a task that has ended or waits for its caller. */
  readonly isOver: boolean;
}

/** Apart from the fold: who resumes may get no Task at first. */
function progressAfter(before: Progress | undefined, response: StreamResponse): Progress {
  const { payload } = response;
  const { taskId = "", isOver = false } = before ?? {};
  const position = positionOf(response) ?? before?.position;
  switch (payload.case) {
    case "message":
      return { taskId: payload.value.taskId || taskId, position, isOver: true };
    case "task":
      return { taskId: payload.value.id, position, isOver: isSettled(payload.value.status?.state) };
    case "statusUpdate": {
      const { status } = payload.value;
      return {
        taskId: payload.value.taskId || taskId,
        position,
        isOver: status === undefined ? isOver : isSettled(status.state),
      };
    }
    case "artifactUpdate":
      return { taskId: payload.value.taskId || taskId, position, isOver };
    default:
      return { taskId, position, isOver };
  }
}

/** A server that shuts down says so on some wires where it just ends the stream on others. */
function isDraining(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "DRAINING";
}

function endedBeforeItBegan(): Error {
  return callError(new A2AError("INVALID_AGENT_RESPONSE", "The stream ended before it began"));
}

/** What is new in an event. A Task that stands at the beginning adds nothing but its artifacts. */
function addedBy({ payload }: StreamResponse): ContentView {
  switch (payload.case) {
    case "message":
    case "task":
      return contentOf(payload.value);
    case "statusUpdate":
      return contentOf(payload.value.status?.message ?? []);
    case "artifactUpdate":
      return contentOf(payload.value.artifact ?? []);
    default:
      return contentOf([]);
  }
}

/** What a person reads while it grows: artifacts as they come, a direct message, and in the end what the task asks or says. */
async function* textOf(events: AsyncIterable<StreamEvent>): AsyncGenerator<string, void, void> {
  let last: StreamEvent | undefined;
  let wrote = false;
  for await (const event of events) {
    last = event;
    const grows =
      event.payload.case === "artifactUpdate" || event.payload.case === "message" || event.payload.case === "task";
    if (!grows || event.text === "") continue;
    wrote = true;
    yield event.text;
  }
  const reply = replyFrom(last);
  if ((isInterrupted(reply.state) || !wrote) && reply.text !== "") yield reply.text;
}

function replyFrom(last: StreamEvent | undefined): Reply {
  if (last?.payload.case === "message")
    return { ...contentOf(last.payload.value), message: last.payload.value, task: undefined, state: undefined };
  if (last?.task === undefined) throw endedBeforeItBegan();
  return assertEndedWell(taskReply(last.task));
}
