import { create } from "@bufbuild/protobuf";
import type { Call } from "../a2a/call.js";
import { isSettled, isTerminal } from "../a2a/task-state.js";
import {
  type SendMessageRequest,
  type SendMessageResponse,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskState,
} from "../a2a/types.js";
import type { LoadedTask } from "../journal/journal.js";
import { type Accepted, accept } from "./accept.js";
import type { Core } from "./core.js";
import { DEFAULT_HISTORY } from "./limits.js";
import { eventsAfter, taskFrame } from "./streams.js";
import { viewOf } from "./view.js";
import { loadAt, untilState } from "./wait.js";

/** SendMessage (§3.1.1): blocks until the task settles, unless asked to return at once (§3.2.2). */
export async function sendMessage(core: Core, request: SendMessageRequest, call: Call): Promise<SendMessageResponse> {
  const accepted = await accept(core, request, call);
  if (accepted.kind === "reply")
    return create(SendMessageResponseSchema, { payload: { case: "message", value: accepted.message } });
  const task = await taskAfter(core, accepted, request, call);
  return create(SendMessageResponseSchema, {
    payload: { case: "task", value: viewOf(task, { history: historyOf(request) }) },
  });
}

/** SendStreamingMessage (§3.1.2): the one Message, or the Task and what happens to it until the turn is over. */
export async function* sendStreamingMessage(
  core: Core,
  request: SendMessageRequest,
  call: Call,
): AsyncGenerator<StreamResponse, void, void> {
  const accepted = await accept(core, request, call);
  if (accepted.kind === "reply") {
    yield create(StreamResponseSchema, { payload: { case: "message", value: accepted.message } });
    return;
  }
  const loaded = await taskUnder(core, accepted, call);
  yield taskFrame(loaded, historyOf(request));
  if (isTerminal(loaded.task.status?.state)) return;
  const closes = core.streamAtInputRequired === "close" ? TaskState.INPUT_REQUIRED : undefined;
  if (accepted.repeated && loaded.task.status?.state === closes) return;
  yield* eventsAfter(core, loaded, { closes, signal: call.signal });
}

/**
 * The task that a send answers with: at once, or as it settles. A repeat finds the task as it is, and waits only while it works: what its
 * stream would end with.
 */
async function taskAfter(core: Core, accepted: AcceptedByTask, request: SendMessageRequest, call: Call): Promise<Task> {
  const { taskId, message, repeated } = accepted;
  const wait = (position: number) =>
    untilState(core.journal, { taskId, position, isOver: isSettled, signal: call.signal });
  const atOnce = request.configuration?.returnImmediately === true;
  if (!atOnce && !repeated) return wait(message);
  const { task, position } = await taskUnder(core, accepted, call);
  return atOnce || isSettled(task.status?.state) ? task : wait(position);
}

/** The task as the message found it; for a repeat, as it is now. */
async function taskUnder(core: Core, { taskId, position, repeated }: AcceptedByTask, call: Call): Promise<LoadedTask> {
  if (!repeated) return loadAt(core.journal, taskId, position);
  const now = await core.journal.load(taskId, core.scopeOf(call));
  if (now === undefined) throw new Error(`Task ${taskId} has left the journal while it was sent to`);
  return now;
}

type AcceptedByTask = Extract<Accepted, { kind: "task" }>;

function historyOf({ configuration }: SendMessageRequest): number {
  return Math.min(configuration?.historyLength ?? DEFAULT_HISTORY, DEFAULT_HISTORY);
}
