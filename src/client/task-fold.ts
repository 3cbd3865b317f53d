import { TaskDraft } from "../a2a/task-draft.js";
import type { StreamResponse, Task, TaskState } from "../a2a/types.js";

/** So many events may always wait, however small the task is. */
const MIN_WAITING = 16;

/**
 * A task as it stands after an event of its stream. Folding copies what the task has, so it waits until somebody asks: a stream that is
 * read for its text alone costs the same for each event, however long it gets.
 */
export class TaskFold {
  readonly state: TaskState | undefined;
  readonly #response: StreamResponse;
  #before: TaskFold | undefined;
  #task: Task | undefined;
  /** How many events wait, this one included, and how many may. */
  #waiting = 1;
  #mayWait = MIN_WAITING;

  /** @param before after the event before; `undefined` for the first, which has the Task. */
  constructor(before: TaskFold | undefined, response: StreamResponse) {
    this.state = stateAfter(before?.state, response);
    this.#response = response;
    this.#before = before;
    if (before !== undefined) {
      this.#waiting = before.#waiting + 1;
      this.#mayWait = before.#mayWait;
    }
    // What has been replaced must not wait for ever. As many events as the task has parts: that stays linear.
    if (this.#waiting > this.#mayWait) this.#settle();
  }

  /** Folded when it is first asked for. It never changes. */
  get task(): Task | undefined {
    if (this.#waiting > 0) this.#settle();
    return this.#task;
  }

  #settle(): void {
    const responses: StreamResponse[] = [];
    let at: TaskFold | undefined = this;
    for (; at !== undefined && at.#waiting > 0; at = at.#before) responses.push(at.#response);
    this.#task = folded(at === undefined ? undefined : at.#task, responses.reverse());
    this.#before = undefined;
    this.#waiting = 0;
    this.#mayWait = MIN_WAITING + (this.#task === undefined ? 0 : sizeOf(this.#task));
  }
}

function stateAfter(before: TaskState | undefined, { payload }: StreamResponse): TaskState | undefined {
  if (payload.case === "task") return payload.value.status?.state;
  return payload.case === "statusUpdate" ? (payload.value.status?.state ?? before) : before;
}

/** The same folding as the server's. A snapshot without artifacts or history doesn't delete what is known (§3.1.2). */
function folded(before: Task | undefined, responses: readonly StreamResponse[]): Task | undefined {
  let draft = before === undefined ? undefined : new TaskDraft(before);
  for (const { payload } of responses) {
    if (payload.case === "task") draft = new TaskDraft(merged(draft?.task, payload.value));
    else if (payload.case === "statusUpdate" && payload.value.status !== undefined) draft?.become(payload.value.status);
    else if (payload.case === "artifactUpdate" && payload.value.artifact !== undefined)
      draft?.write(payload.value.artifact, payload.value.append);
  }
  return draft?.task;
}

function merged(before: Task | undefined, now: Task): Task {
  if (before === undefined || before.id !== now.id) return now;
  return {
    ...now,
    artifacts: now.artifacts.length > 0 ? now.artifacts : before.artifacts,
    history: now.history.length > 0 ? now.history : before.history,
  };
}

function sizeOf({ artifacts, history }: Task): number {
  return artifacts.reduce((size, { parts }) => size + 1 + parts.length, history.length);
}
