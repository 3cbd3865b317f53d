import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ArtifactUpdated } from "../../gen/nuncio/journal/v1/journal_pb.js";
import {
  type Artifact,
  type Message,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
} from "../a2a/types.js";
import type { StoredEvent } from "./journal.js";

/**
 * The task after one more entry. Pure and persistent: what readers hold never changes, and only what lies on the path of the change
 * is copied. The first entry of a task is its first message.
 */
export function evolve(task: Task | undefined, stored: StoredEvent): Task {
  return fold(task, [stored]);
}

/** The task after several entries: as `evolve` over each of them, but what is copied is copied once. */
export function fold(task: Task | undefined, entries: Iterable<StoredEvent>): Task {
  let draft = task === undefined ? undefined : new Draft({ ...task });
  for (const stored of entries) {
    draft ??= new Draft(begin(stored));
    draft.apply(stored);
  }
  if (draft === undefined) throw new TypeError("a task begins with an entry");
  return draft.task;
}

function begin({ taskId, at, event }: StoredEvent): Task {
  if (event.kind.case !== "messageReceived") throw new TypeError(`task ${taskId} doesn't begin with a message`);
  const contextId = event.kind.value.message?.contextId ?? "";
  return create(TaskSchema, { id: taskId, contextId, status: statusAt(TaskState.SUBMITTED, at) });
}

/** A task on the way to its next version: owns the task itself, and of the rest what it has copied. */
class Draft {
  readonly task: Task;
  readonly #owned = new Set<object>();

  constructor(task: Task) {
    this.task = task;
  }

  apply({ at, event: { kind } }: StoredEvent): void {
    switch (kind.case) {
      case "messageReceived":
        if (kind.value.message !== undefined) this.#hear(kind.value.message);
        break;
      case "statusUpdated":
        this.#supersedeStatus();
        this.task.status = statusAt(kind.value.state, at, kind.value.message);
        break;
      case "turnStarted":
        this.#supersedeStatus();
        this.task.status = statusAt(TaskState.WORKING, at);
        break;
      case "artifactUpdated":
        this.#updateArtifact(kind.value);
        break;
      default:
        break;
    }
  }

  /** A message answers what the status said before it: the question goes into the history first, so that both stand in order. */
  #hear(message: Message): void {
    const { status } = this.task;
    if (status?.message !== undefined) {
      this.#supersedeStatus();
      this.task.status = { ...status, message: undefined };
    }
    this.#ownHistory().push(message);
  }

  #supersedeStatus(): void {
    const said = this.task.status?.message;
    if (said !== undefined) this.#ownHistory().push(said);
  }

  #ownHistory(): Message[] {
    this.task.history = this.#own(this.task.history);
    return this.task.history;
  }

  #updateArtifact({ artifact, append }: ArtifactUpdated): void {
    if (artifact === undefined) return;
    this.task.artifacts = this.#own(this.task.artifacts);
    const { artifacts } = this.task;
    // From the end: a chunk nearly always belongs to the newest artifact.
    const index = artifacts.findLastIndex(({ artifactId }) => artifactId === artifact.artifactId);
    const old = artifacts[index];
    if (old === undefined) artifacts.push(artifact);
    else artifacts[index] = append ? this.#extend(old, artifact) : artifact;
  }

  #extend(old: Artifact, more: Artifact): Artifact {
    let whole = old;
    if (!this.#owned.has(old)) {
      whole = { ...old };
      this.#owned.add(whole);
    }
    whole.parts = this.#own(whole.parts);
    for (const part of more.parts) whole.parts.push(part);
    if (more.name !== "") whole.name = more.name;
    if (more.description !== "") whole.description = more.description;
    if (more.metadata !== undefined) whole.metadata = { ...whole.metadata, ...more.metadata };
    const added = more.extensions.filter((uri) => !whole.extensions.includes(uri));
    if (added.length > 0) whole.extensions = [...whole.extensions, ...added];
    return whole;
  }

  #own<T>(list: T[]): T[] {
    if (this.#owned.has(list)) return list;
    const copy = [...list];
    this.#owned.add(copy);
    return copy;
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
  return create(TaskStatusSchema, { state, message, timestamp: timestampFromMs(at) });
}
