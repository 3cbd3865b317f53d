import { type ContentView, contentOf } from "../a2a/content.js";
import { A2AError } from "../a2a/errors.js";
import { positionOf } from "../a2a/position.js";
import { isInterrupted } from "../a2a/task-state.js";
import type { StreamResponse, Task, TaskState } from "../a2a/types.js";
import { callError } from "./outcome.js";
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
 * `text` and `reply` reject as `send` does.
 */
export interface TaskStream extends AsyncIterable<StreamEvent> {
  /** The answer's text alone, as it grows. */
  readonly text: AsyncIterable<string>;
  /** Reads to the end. */
  reply(): Promise<Reply>;
}

/** A stream that is opened when it is first read. */
export function createTaskStream(open: () => AsyncIterable<StreamResponse>): TaskStream {
  const events = (): AsyncGenerator<StreamEvent, void, void> => readEvents(open);
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

async function* readEvents(open: () => AsyncIterable<StreamResponse>): AsyncGenerator<StreamEvent, void, void> {
  let fold: TaskFold | undefined;
  try {
    for await (const response of open()) {
      const { payload } = response;
      // Before the first Task there is nothing to fold into.
      if (fold !== undefined || payload.case === "task") fold = new TaskFold(fold, response);
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
    throw callError(error);
  }
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
  if (last?.task === undefined)
    throw callError(new A2AError("INVALID_AGENT_RESPONSE", "The stream ended before it began"));
  return assertEndedWell(taskReply(last.task));
}
