import { create, toBinary } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Call } from "../a2a/call.js";
import { invalidParams, type Violation } from "../a2a/errors.js";
import { keepEmpty } from "../a2a/presence.js";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../a2a/types.js";
import { everyOwner, type Head } from "../journal/journal.js";
import type { Core } from "./core.js";
import { judgeList } from "./judge.js";
import { DEFAULT_HISTORY, DEFAULT_LIST_HISTORY, DEFAULT_PAGE_SIZE, MAX_PAGE_BYTES } from "./limits.js";
import { parsePageToken, writePageToken } from "./page-token.js";
import { viewOf } from "./view.js";

/** ListTasks (§3.1.4): the caller's tasks, newest status first. */
export async function listTasks(core: Core, request: ListTasksRequest, call: Call): Promise<ListTasksResponse> {
  const scope = core.scopeOf(call);
  const { pageSize = DEFAULT_PAGE_SIZE } = request;
  const filter = {
    contextId: request.contextId === "" ? undefined : request.contextId,
    state: request.status === TaskState.UNSPECIFIED ? undefined : request.status,
    statusAfter: millisecondsOf(request.statusTimestampAfter),
  };
  const after = request.pageToken === "" ? undefined : parsePageToken(request.pageToken, filter);
  const violations = [...judgeList(request), ...(after === "foreign" ? [FOREIGN_TOKEN] : [])];
  if (after === "foreign" || violations.length > 0) throw invalidParams(violations);
  const page = await core.journal.list(scope, { ...filter, limit: pageSize, after, count: true });

  const tasks: Task[] = [];
  let bytes = 0;
  let last: Head | undefined;
  for (const head of page.heads) {
    const loaded = await core.journal.load(head.taskId, everyOwner, head.position);
    if (loaded === undefined) continue; // erased since
    const task = listed(loaded.task, request);
    bytes += toBinary(TaskSchema, task).length;
    if (bytes > MAX_PAGE_BYTES && tasks.length > 0) break;
    tasks.push(task);
    last = head;
  }
  const more = page.more || last !== page.heads.at(-1);
  const nextPageToken = more && last !== undefined ? writePageToken(last, filter) : "";
  return create(ListTasksResponseSchema, { tasks, nextPageToken, pageSize, totalSize: page.total });
}

/** With `includeArtifacts` the key is there even when empty, without it there is none (§3.1.4). */
function listed(task: Task, { historyLength, includeArtifacts = false }: ListTasksRequest): Task {
  const history = Math.min(historyLength ?? DEFAULT_LIST_HISTORY, DEFAULT_HISTORY);
  const view = viewOf(task, { history, artifacts: includeArtifacts });
  if (includeArtifacts) keepEmpty(view, "artifacts");
  return view;
}

const FOREIGN_TOKEN: Violation = {
  path: "pageToken",
  rule: "PAGE_TOKEN",
  description: "is not a page token of this list; begin again without one, or keep the filters",
  section: "§3.1.4",
};

/** Rounded up, so that "at or after" is exact for status times, which are whole milliseconds. */
function millisecondsOf(timestamp: Timestamp | undefined): number | undefined {
  return timestamp === undefined ? undefined : Number(timestamp.seconds) * 1000 + Math.ceil(timestamp.nanos / 1e6);
}
