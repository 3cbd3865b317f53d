import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ArtifactUpdated } from "../../gen/nuncio/journal/v1/journal_pb.js";
import { TaskDraft } from "../a2a/task-draft.js";
import {
  type Message,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
  type TaskStatus,
} from "../a2a/types.js";
import type { StoredEvent } from "./journal.js";

/**
 * The task after some more entries. Pure and persistent: what readers hold never changes, and only what lies on the path of the change
 * is copied, once for all of them. The first entry of a task is its first message.
 */
export function fold(task: Task | undefined, entries: Iterable<StoredEvent>): Task {
  let draft = task === undefined ? undefined : new TaskDraft(task);
  for (const stored of entries) {
    draft ??= new TaskDraft(begin(stored));
    apply(draft, stored);
  }
  if (draft === undefined) throw new TypeError("A task begins with an entry");
  return draft.task;
}

function begin({ taskId, at, event }: StoredEvent): Task {
  if (event.kind.case !== "messageReceived") throw new TypeError(`Task ${taskId} doesn't begin with a message`);
  const contextId = event.kind.value.message?.contextId ?? "";
  return create(TaskSchema, { id: taskId, contextId, status: statusAt(TaskState.SUBMITTED, at) });
}

function apply(draft: TaskDraft, { at, event: { kind } }: StoredEvent): void {
  switch (kind.case) {
    case "messageReceived":
      if (kind.value.message !== undefined) draft.hear(kind.value.message);
      break;
    case "statusUpdated":
      draft.become(statusAt(kind.value.state, at, kind.value.message));
      break;
    case "turnStarted":
      draft.become(statusAt(TaskState.WORKING, at));
      break;
    case "artifactUpdated":
      if (kind.value.artifact !== undefined) draft.write(kind.value.artifact, kind.value.append);
      break;
    default:
      break;
  }
}

/**
 * What a stream says of an entry (§3.1.2, §3.5.2): one event or none. It shares what the entry holds; never mutate it.
 */
export function toStreamResponse(
  { at, event: { kind } }: StoredEvent,
  { taskId, contextId }: { readonly taskId: string; readonly contextId: string },
): StreamResponse | undefined {
  switch (kind.case) {
    case "statusUpdated": {
      const status = statusAt(kind.value.state, at, kind.value.message);
      return statusUpdate({ taskId, contextId, status, metadata: kind.value.metadata });
    }
    case "turnStarted":
      return statusUpdate({ taskId, contextId, status: statusAt(TaskState.WORKING, at) });
    case "artifactUpdated": {
      const { artifact, append, lastChunk, metadata } = kind.value;
      const value = { taskId, contextId, artifact, append, lastChunk, metadata };
      return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
    }
    default:
      return undefined;
  }
}

function statusUpdate(value: {
  taskId: string;
  contextId: string;
  status: TaskStatus;
  metadata?: StoredMetadata;
}): StreamResponse {
  return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
}

type StoredMetadata = ArtifactUpdated["metadata"];

function statusAt(state: TaskState, at: number, message?: Message): TaskStatus {
  const $typeName = "lf.a2a.v1.TaskStatus"; // written out: `create` costs several times as much, three times a turn
  const timestamp = timestampFromMs(at);
  return message === undefined ? { $typeName, state, timestamp } : { $typeName, state, timestamp, message };
}
