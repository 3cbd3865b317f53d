import { type ContentView, contentOf } from "../a2a/content.js";
import { A2AError } from "../a2a/errors.js";
import { endedBadly, isInterrupted } from "../a2a/task-state.js";
import { type Message, type SendMessageResponse, type Task, TaskState } from "../a2a/types.js";
import { taskEnded } from "./outcome.js";

/** An answer, read. `text` is what a person wants to see: the message, the question of a parked task, else the artifacts. */
export interface Reply<D = unknown> extends ContentView<D> {
  /** `undefined` if the peer answered with a Message. */
  readonly task: Task | undefined;
  readonly message: Message | undefined;
  /** The task's state; `undefined` for a Message. */
  readonly state: TaskState | undefined;
}

/** The answer to a send. @throws A2AError INVALID_AGENT_RESPONSE when it is neither a task nor a message. */
export function replyOf({ payload }: SendMessageResponse): Reply {
  switch (payload.case) {
    case "message":
      return { ...contentOf(payload.value), message: payload.value, task: undefined, state: undefined };
    case "task":
      return taskReply(payload.value);
    default:
      throw new A2AError("INVALID_AGENT_RESPONSE", "The peer answered with neither a task nor a message");
  }
}

/** A task, read. What it said at its end counts where it made nothing. */
export function taskReply(task: Task): Reply {
  const state = task.status?.state ?? TaskState.UNSPECIFIED;
  const said = task.status?.message;
  const source = said !== undefined && (isInterrupted(state) || task.artifacts.length === 0) ? said : task;
  return { ...contentOf(source), task, message: undefined, state };
}

/** @throws CallError `done` when the task ended FAILED, CANCELED or REJECTED. */
export function assertEndedWell(reply: Reply): Reply {
  if (reply.task !== undefined && endedBadly(reply.state)) throw taskEnded(reply.task);
  return reply;
}
