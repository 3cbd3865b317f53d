import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  CancelTaskRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  type Task,
  TaskState,
} from "nuncio/types";
import { TaskFold } from "../../src/client/task-fold.js";
import { taskOf } from "../contract/messages.js";
import { gate } from "../support/scripted-agent.js";
import type { Seen, State } from "./model.js";
import { first, newestFirst, ofStream, refused, same, seenOf } from "./seen.js";
import type { At } from "./step.js";

/** A task, with as much of its history as is asked for (§3.2.4). */
export async function get({ caller, random, note }: At): Promise<void> {
  const task = random.maybe(caller.tasks);
  if (task === undefined) return;
  const historyLength = random.pick([undefined, 0, 1, 2, 100, 2 ** 31 - 1]);
  note(task.id, { historyLength });
  const request = create(GetTaskRequestSchema, {
    id: task.id,
    ...(historyLength === undefined ? {} : { historyLength }),
  });
  same("task", seenOf(await caller.handler.getTask(request, {})), task.seen(historyLength));
}

/** Every page of a list: exactly the tasks that its filters let through, newest status first (§3.1.4). */
export async function list({ caller: { handler, tasks }, random, note }: At): Promise<void> {
  const { contextId = "" } = (random.chance(0.5) ? random.maybe(tasks) : undefined) ?? {};
  const state = random.chance(0.3)
    ? random.pick<State>(["COMPLETED", "INPUT_REQUIRED", "WORKING", "CANCELED"])
    : undefined;
  const pageSize = random.pick([undefined, 1, 2, 7, 100]);
  const includeArtifacts = random.chance(0.5);
  const historyLength = random.pick([undefined, 0, 2]);
  const filter = {
    contextId,
    status: state === undefined ? TaskState.UNSPECIFIED : TaskState[state],
    includeArtifacts,
  };
  const options = {
    ...(pageSize === undefined ? {} : { pageSize }),
    ...(historyLength === undefined ? {} : { historyLength }),
  };
  note(filter, options);
  const wanted = tasks.filter(
    (one) => (contextId === "" || one.contextId === contextId) && (state === undefined || one.state === state),
  );
  const found: Task[] = [];
  for (let pageToken = ""; ; ) {
    const page = await handler.listTasks(create(ListTasksRequestSchema, { ...filter, ...options, pageToken }), {});
    same("totals", [page.totalSize, page.pageSize], [wanted.length, pageSize ?? 50]);
    same("tasks on a page", page.tasks.length, Math.min(pageSize ?? 50, wanted.length - found.length));
    found.push(...page.tasks);
    pageToken = page.nextPageToken;
    if (pageToken === "") break;
  }
  const order = found.map(({ id, status }) => [timeOf(status?.timestamp), id] as const);
  same("order", order, [...order].sort(newestFirst));
  const byId = (one: Seen, other: Seen) => (one.id < other.id ? -1 : 1);
  const expected = wanted.map((one) => one.seen(historyLength ?? 10, includeArtifacts));
  same("the tasks of a list", found.map(seenOf).sort(byId), expected.sort(byId));
  const statusTimestampAfter = random.maybe(found)?.status?.timestamp;
  if (statusTimestampAfter === undefined) return;
  const since = timeOf(statusTimestampAfter);
  const later = await handler.listTasks(
    create(ListTasksRequestSchema, { ...filter, statusTimestampAfter, pageSize: 100 }),
    {},
  );
  const expectedLater = found.filter(({ status }) => timeOf(status?.timestamp) >= since).slice(0, 100);
  same(
    "the tasks since then",
    later.tasks.map(({ id }) => id),
    expectedLater.map(({ id }) => id),
  );
}

/** In milliseconds. */
function timeOf(timestamp: Timestamp | undefined): number {
  return Number(timestamp?.seconds) * 1_000 + Number(timestamp?.nanos) / 1e6;
}

/** CancelTask (§3.1.5). */
export async function cancel({ caller, random, note }: At): Promise<void> {
  const task = random.maybe(caller.tasks);
  if (task === undefined) return;
  note(task.id, task.state);
  const asked = caller.handler.cancelTask(create(CancelTaskRequestSchema, { id: task.id }), {});
  if (task.hasEnded && task.state !== "CANCELED") return refused("TASK_NOT_CANCELABLE", asked);
  const held = task.waitsFor;
  if (!task.hasEnded) task.cancel();
  const answer = seenOf(await asked);
  // Whether a run that leaves its task open has let go of it can't be seen; if it hasn't, it doesn't hear of the cancel.
  if (held === undefined && task.said === undefined && answer.said?.startsWith("Canceled;")) task.said = answer.said;
  same("canceled task", answer, task.seen());
  if (typeof held === "object") gate(held.gate).open(); // nothing may come of it any more
}

/** A stream begins with the task as it is (§3.1.6). */
export async function subscribe({ caller: { handler, tasks }, random, note }: At): Promise<void> {
  const task = random.maybe(tasks);
  if (task === undefined) return;
  note(task.id, task.state);
  const events = handler.subscribeToTask(create(SubscribeToTaskRequestSchema, { id: task.id }), {});
  if (task.hasEnded) return refused("UNSUPPORTED_OPERATION", first(events));
  same("first frame", seenOf(taskOf((await first(events)) as StreamResponse)), task.seen());
}

/** From the first position of a task that has ended: all that happened to it, and what became of it. */
export async function resume({ caller: { handler, tasks }, random, note }: At): Promise<void> {
  const task = random.maybe(tasks.filter(({ hasEnded }) => hasEnded));
  if (task === undefined) return;
  note(task.id, task.state);
  let fold: TaskFold | undefined;
  for await (const event of handler.subscribeToTask(create(SubscribeToTaskRequestSchema, { id: task.id }), {
    after: "1",
  }))
    fold = new TaskFold(fold, event);
  if (fold?.task === undefined) throw new Error("Nothing came after position 1");
  same("all events together", ofStream(seenOf(fold.task)), ofStream(task.seen()));
}

/** The card for who has logged in is made for exactly them (§3.1.11). */
export async function extendedCard({ caller: { name, handler } }: At): Promise<void> {
  const { description, skills } = await handler.getExtendedAgentCard(create(GetExtendedAgentCardRequestSchema), {});
  same("whose card it is", [description.startsWith("Extended for "), description.endsWith(name)], [true, true]);
  same(
    "the skills",
    skills.map(({ id }) => id),
    ["double", "plain"],
  );
}
