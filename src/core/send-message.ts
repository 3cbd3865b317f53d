import { create } from "@bufbuild/protobuf";
import type { Call } from "../a2a/call.js";
import { isSettled, isTerminal } from "../a2a/task-state.js";
import {
  type SendMessageRequest,
  type SendMessageResponse,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  TaskState,
} from "../a2a/types.js";
import { accept } from "./accept.js";
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
  const { taskId, message, position } = accepted;
  const task = request.configuration?.returnImmediately
    ? (await loadAt(core.journal, taskId, position)).task
    : await untilState(core.journal, { taskId, position: message, isOver: isSettled, signal: call.signal });
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
  const loaded = accepted.repeated
    ? await core.journal.load(accepted.taskId, core.scopeOf(call))
    : await loadAt(core.journal, accepted.taskId, accepted.position);
  if (loaded === undefined) throw new Error(`Task ${accepted.taskId} has left the journal while it was sent to`);
  yield taskFrame(loaded, historyOf(request));
  if (isTerminal(loaded.task.status?.state)) return;
  const closes = core.streamAtInputRequired === "close" ? TaskState.INPUT_REQUIRED : undefined;
  if (accepted.repeated && loaded.task.status?.state === closes) return;
  yield* eventsAfter(core, loaded, { closes, signal: call.signal });
}

function historyOf({ configuration }: SendMessageRequest): number {
  return Math.min(configuration?.historyLength ?? DEFAULT_HISTORY, DEFAULT_HISTORY);
}
