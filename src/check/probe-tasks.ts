import { equals, type JsonObject } from "@bufbuild/protobuf";
import { isTerminal } from "../a2a/task-state.js";
import { type Artifact, ArtifactSchema, TaskState } from "../a2a/types.js";
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
    const missing = differenceOf(before.artifacts, task.artifacts);
    record.expect("send.complete", missing === undefined, () => `${missing} when it was returned`);
  }
  tasks.set(id, task);

  const none = await call(subject, "getTask", { id, historyLength: 0 });
  if (none.case === "result") judge(record, "history.zero", none, none.json.history === undefined);
  else judge(record, "history.zero", none, false);
  const one = await call(subject, "getTask", { id, historyLength: 1 });
  if (one.case === "result") judge(record, "history.most", one, lengthOf(one.json.history) <= 1);
  else judge(record, "history.most", one, false);
}

/** How the artifacts of a send differ from those that the task has. */
function differenceOf(sent: readonly Artifact[], had: readonly Artifact[]): string | undefined {
  if (sent.length !== had.length) return `${sent.length} artifacts of ${had.length}`;
  const other = had.find((one, index) => {
    const then = sent[index];
    return then === undefined || !equals(ArtifactSchema, one, then);
  });
  return other && `another artifact ${JSON.stringify(other.artifactId)}`;
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
  const { pageSize } = page.json;
  record.expect("list.pages", Number(pageSize) > 0, () => `pageSize ${pageSize} where none was asked for`);

  await probeArtifacts(subject, id, contextId);
  await probePages(subject, contextId, page);
  await probeStatusFilter(subject, id, contextId);
  if (own !== undefined) await probeTimeFilter(subject, own, contextId);
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

async function probePages(subject: Subject, contextId: string, { json, tasks: all }: Page): Promise<void> {
  const { record } = subject;
  const first = await listed(subject, { contextId, pageSize: 1 });
  if (first === undefined) return;
  record.expect("list.pages", first.tasks.length <= 1, () => `${first.tasks.length} tasks on a page of 1`);
  record.expect("list.pages", first.json.pageSize === 1, () => `pageSize ${first.json.pageSize} where 1 was asked for`);
  const { nextPageToken, totalSize } = first.json;
  const hasMore = hasNext(first.json);
  const totals = `totalSize ${totalSize} with a page of 1, ${json.totalSize} with one of all`;
  record.expect("list.total", totalSize === json.totalSize, () => totals);
  record.expect(
    "list.pages",
    hasMore === all.length > 1,
    () => `nextPageToken ${JSON.stringify(nextPageToken)} after 1 of ${all.length}`,
  );
  if (!hasMore || all.length < 2) return;
  const second = await listed(subject, { contextId, pageSize: 1, pageToken: String(nextPageToken) });
  if (second === undefined) return;
  const ids = [first.tasks[0]?.id, second.tasks[0]?.id];
  record.expect("list.pages", ids[1] !== undefined && ids[0] !== ids[1], () => `${ids[0]}, and then ${ids[1]}`);
}

async function probeStatusFilter(subject: Subject, id: string, contextId: string): Promise<void> {
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
}

/** A task is as new as its own status (the contract says "this new, or newer"), and no newer. */
async function probeTimeFilter(subject: Subject, own: UnknownObject, contextId: string): Promise<void> {
  const { record, tasks } = subject;
  const [time = ""] = timesOf([own]);
  const at = Date.parse(time);
  if (!(at < Date.parse(FAR_FUTURE))) return record.skip("list.filters", "the task has no timestamp to filter by");
  const since = async (statusTimestampAfter: string, isExpected: boolean) => {
    const page = await listed(subject, { contextId, statusTimestampAfter });
    const isFound = page?.tasks.some((task) => task.id === own.id);
    if (page !== undefined)
      record.expect(
        "list.filters",
        isFound === isExpected,
        () => `the task of ${time} is ${isFound ? "" : "not "}listed since ${statusTimestampAfter}`,
      );
  };
  await since(new Date(at).toISOString(), true);
  if (isTerminal(tasks.get(String(own.id))?.status?.state)) await since(new Date(at + 1).toISOString(), false);
  await since(FAR_FUTURE, false);
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

/** A list as it came, and the objects in it. */
interface Page {
  readonly json: UnknownObject;
  readonly tasks: readonly UnknownObject[];
}

async function listed(subject: Subject, request: JsonObject): Promise<Page | undefined> {
  const outcome = await call(subject, "listTasks", request);
  if (outcome.case !== "result") {
    const seen = () => `ListTasks ${JSON.stringify(request)}: ${told(outcome)}`;
    judge(subject.record, "list.finds", outcome, false, seen);
    return undefined;
  }
  const { json } = outcome;
  const tasks = Array.isArray(json.tasks) ? json.tasks.filter(isObject) : [];
  judgeTotal(subject, request, json, tasks.length);
  return { json, tasks };
}

/** What is on the only page is all there is. */
function judgeTotal({ record }: Subject, request: JsonObject, json: UnknownObject, count: number): void {
  if ("pageToken" in request) return;
  const total = Number(json.totalSize);
  const isIt = hasNext(json) ? total >= count : total === count;
  const what = `ListTasks ${JSON.stringify(request)}: totalSize ${json.totalSize} with ${count} tasks`;
  record.expect("list.total", isIt, () => `${what}${hasNext(json) ? ", and more to come" : ""}`);
}

function hasNext({ nextPageToken }: UnknownObject): boolean {
  return typeof nextPageToken === "string" && nextPageToken !== "";
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
