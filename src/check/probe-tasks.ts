import type { JsonObject } from "@bufbuild/protobuf";
import { isTerminal } from "../a2a/task-state.js";
import { TaskState } from "../a2a/types.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { told } from "./speaker.js";
import { call, expectRefusal, judge, readTask, type Subject } from "./subject.js";

/** No status is newer. */
const FAR_FUTURE = "2999-01-01T00:00:00.000Z";

/** Reads a task back (§3.1.3), with and without history (§3.2.4). */
export async function probeGet(subject: Subject, id: string): Promise<void> {
  const { record, tasks } = subject;
  const before = tasks.get(id);
  const outcome = await call(subject, "getTask", { id });
  const task = outcome.case === "result" ? readTask(outcome.json) : undefined;
  if (task === undefined) {
    judge(record, "task.same", outcome, false);
    return;
  }
  judge(record, "task.same", outcome, task.id === id && task.contextId === before?.contextId);
  if (before !== undefined && isTerminal(before.status?.state)) {
    const [was, is] = [before.status?.state ?? 0, task.status?.state ?? 0];
    record.expect("task.same", was === is, () => `${TaskState[was]} when it was returned, ${TaskState[is]} afterwards`);
    const sizes = [before.artifacts.length, task.artifacts.length];
    record.expect("send.complete", sizes[0] === sizes[1], () => `${sizes[0]} artifacts of ${sizes[1]}`);
  }
  tasks.set(id, task);

  const none = await call(subject, "getTask", { id, historyLength: 0 });
  if (none.case === "result") judge(record, "history.zero", none, none.json.history === undefined);
  else judge(record, "history.zero", none, false);
  const one = await call(subject, "getTask", { id, historyLength: 1 });
  if (one.case === "result") judge(record, "history.most", one, lengthOf(one.json.history) <= 1);
  else judge(record, "history.most", one, false);
}

/** Lists the tasks of a context (§3.1.4): filters, order, pages, what is left out. */
export async function probeList(subject: Subject, id: string, contextId: string): Promise<void> {
  const { record } = subject;
  const page = await listed(subject, { contextId });
  if (page === undefined) return;
  const own = page.tasks.find((task) => task.id === id);
  record.expect("list.finds", own !== undefined, () => `the task isn't among the ${page.tasks.length} of its context`);
  const strange = page.tasks.find((task) => task.contextId !== contextId);
  record.expect(
    "list.finds",
    strange === undefined,
    () => `a task of the context ${JSON.stringify(strange?.contextId)}`,
  );
  const withArtifacts = page.tasks.find((task) => "artifacts" in task);
  record.expect("list.artifacts-left-out", withArtifacts === undefined, () => "a task with artifacts");
  record.expect("list.sorted", isSorted(page.tasks), () => timesOf(page.tasks).join(", "));
  const { totalSize, pageSize } = page.json;
  record.expect(
    "list.total",
    Number(totalSize) >= page.tasks.length,
    () => `totalSize ${totalSize} with ${page.tasks.length} tasks`,
  );
  record.expect("list.pages", Number(pageSize) > 0, () => `pageSize ${pageSize} where none was asked for`);

  await probeArtifacts(subject, id, contextId);
  await probePages(subject, contextId, page.tasks);
  await probeFilters(subject, id, contextId);
  await probeBounds(subject);
}

async function probeArtifacts(subject: Subject, id: string, contextId: string): Promise<void> {
  const { record, tasks } = subject;
  const count = tasks.get(id)?.artifacts.length ?? 0;
  if (count === 0) return record.skip("list.artifacts", "the task has none");
  const page = await listed(subject, { contextId, includeArtifacts: true });
  const own = page?.tasks.find((task) => task.id === id);
  if (page === undefined) return;
  record.expect(
    "list.artifacts",
    lengthOf(own?.artifacts) === count,
    () => `${lengthOf(own?.artifacts)} artifacts of ${count}`,
  );
}

async function probePages(subject: Subject, contextId: string, all: readonly UnknownObject[]): Promise<void> {
  const { record } = subject;
  const first = await listed(subject, { contextId, pageSize: 1 });
  if (first === undefined) return;
  record.expect("list.pages", first.tasks.length <= 1, () => `${first.tasks.length} tasks on a page of 1`);
  record.expect("list.pages", first.json.pageSize === 1, () => `pageSize ${first.json.pageSize} where 1 was asked for`);
  const { nextPageToken } = first.json;
  const hasMore = typeof nextPageToken === "string" && nextPageToken !== "";
  record.expect(
    "list.pages",
    hasMore === all.length > 1,
    () => `nextPageToken ${JSON.stringify(nextPageToken)} after 1 of ${all.length}`,
  );
  if (!hasMore || all.length < 2) return;
  const second = await listed(subject, { contextId, pageSize: 1, pageToken: nextPageToken });
  if (second === undefined) return;
  const ids = [first.tasks[0]?.id, second.tasks[0]?.id];
  record.expect("list.pages", ids[1] !== undefined && ids[0] !== ids[1], () => `${ids[0]}, and then ${ids[1]}`);
}

async function probeFilters(subject: Subject, id: string, contextId: string): Promise<void> {
  const { record, tasks } = subject;
  const state = tasks.get(id)?.status?.state ?? 0;
  const status = `TASK_STATE_${TaskState[state]}`;
  const same = await listed(subject, { contextId, status });
  if (same !== undefined)
    record.expect(
      "list.filters",
      same.tasks.some((task) => task.id === id),
      () => `${status} doesn't find the task`,
    );
  const other = await listed(subject, {
    contextId,
    status: status === "TASK_STATE_FAILED" ? "TASK_STATE_REJECTED" : "TASK_STATE_FAILED",
  });
  if (other !== undefined)
    record.expect(
      "list.filters",
      other.tasks.every((task) => task.id !== id),
      () => "another status finds the task",
    );
  const later = await listed(subject, { contextId, statusTimestampAfter: FAR_FUTURE });
  if (later !== undefined)
    record.expect("list.filters", later.tasks.length === 0, () => `${later.tasks.length} tasks since ${FAR_FUTURE}`);
}

async function probeBounds(subject: Subject): Promise<void> {
  for (const request of [
    { pageSize: 0 },
    { pageSize: 101 },
    { pageSize: -1 },
    { historyLength: -1 },
    { pageToken: "%%no-token" },
  ]) {
    const what = `ListTasks ${JSON.stringify(request)}`;
    expectRefusal(
      subject,
      "invalid.values",
      await call(subject, "listTasks", request, { isUnjudged: true }),
      ["INVALID_PARAMS"],
      what,
    );
  }
}

async function listed(
  subject: Subject,
  request: JsonObject,
): Promise<{ readonly json: UnknownObject; readonly tasks: readonly UnknownObject[] } | undefined> {
  const outcome = await call(subject, "listTasks", request);
  if (outcome.case !== "result") {
    const seen = () => `ListTasks ${JSON.stringify(request)}: ${told(outcome)}`;
    judge(subject.record, "list.finds", outcome, false, seen);
    return undefined;
  }
  const { tasks } = outcome.json;
  return { json: outcome.json, tasks: Array.isArray(tasks) ? tasks.filter(isObject) : [] };
}

function timesOf(tasks: readonly UnknownObject[]): string[] {
  return tasks.map(({ status }) => (isObject(status) && typeof status.timestamp === "string" ? status.timestamp : ""));
}

function isSorted(tasks: readonly UnknownObject[]): boolean {
  const times = timesOf(tasks).map((time) => Date.parse(time));
  return times.every((time, index) => Number.isNaN(time) || !(time > (times[index - 1] ?? Number.POSITIVE_INFINITY)));
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}
