import { create } from "@bufbuild/protobuf";
import type { Call } from "../a2a/call.js";
import { A2AError } from "../a2a/errors.js";
import { setPosition } from "../a2a/position.js";
import { isTerminal } from "../a2a/task-state.js";
import {
  type StreamResponse,
  StreamResponseSchema,
  type SubscribeToTaskRequest,
  type TaskState,
} from "../a2a/types.js";
import type { LoadedTask, StoredEvent } from "../journal/journal.js";
import { toStreamResponse } from "../journal/projection.js";
import type { Core } from "./core.js";
import { DEFAULT_HISTORY, taskNotFound } from "./limits.js";
import { viewOf } from "./view.js";

/** SubscribeToTask (§3.1.6): the Task, then what happens to it until it ends; from a position of its log, exactly what came after it. */
export async function* subscribeToTask(
  core: Core,
  { id }: SubscribeToTaskRequest,
  call: Call,
): AsyncGenerator<StreamResponse, void, void> {
  const scope = core.scopeOf(call);
  const now = await core.journal.load(id, scope);
  if (now === undefined) throw taskNotFound();
  const after = positionIn(call.after, now.position);
  const loaded = after === undefined ? now : await core.journal.load(id, scope, after);
  if (loaded === undefined) throw taskNotFound();
  if (after === undefined && hasEnded(loaded)) {
    throw new A2AError(
      "UNSUPPORTED_OPERATION",
      "The task has ended, there is nothing to subscribe to; GetTask gives its result",
    );
  }
  yield taskFrame(loaded, DEFAULT_HISTORY);
  if (!hasEnded(loaded)) yield* eventsAfter(core, loaded, { closes: undefined, signal: call.signal });
}

/** The first frame of a stream (§3.1.2): the Task, as it was at a position. */
export function taskFrame({ task, position }: LoadedTask, history: number): StreamResponse {
  return at(position, create(StreamResponseSchema, { payload: { case: "task", value: viewOf(task, { history }) } }));
}

/**
 * What happens to a task after a position, until it ends (§3.1.2).
 * @throws the signal's reason when it aborts.
 */
export async function* eventsAfter(
  core: Core,
  { task: { id: taskId, contextId }, position }: LoadedTask,
  { closes, signal }: { closes: TaskState | undefined; signal: AbortSignal | undefined },
): AsyncGenerator<StreamResponse, void, void> {
  for await (const stored of core.journal.follow(taskId, position, signal)) {
    const response = toStreamResponse(stored, { taskId, contextId });
    if (response === undefined) continue;
    core.runtime.at("stream.frame");
    yield at(stored.position, response);
    const state = stateOf(stored);
    if (isTerminal(state) || (state !== undefined && state === closes)) return;
  }
  signal?.throwIfAborted();
}

function at(position: number, response: StreamResponse): StreamResponse {
  setPosition(response, String(position));
  return response;
}

function stateOf({ event: { kind } }: StoredEvent): TaskState | undefined {
  return kind.case === "statusUpdated" ? kind.value.state : undefined;
}

function hasEnded({ task }: LoadedTask): boolean {
  return isTerminal(task.status?.state);
}

/** A cursor that is no position of this log is ignored. */
function positionIn(cursor: string | undefined, newest: number): number | undefined {
  if (cursor === undefined || !/^[1-9]\d{0,9}$/.test(cursor)) return undefined;
  const position = Number(cursor);
  return position <= newest ? position : undefined;
}
