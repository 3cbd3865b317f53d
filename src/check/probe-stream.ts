import { decodeJson } from "../a2a/codec.js";
import { isSettled, isTerminal } from "../a2a/task-state.js";
import { type StreamResponse, StreamResponseSchema, type Task, TaskState } from "../a2a/types.js";
import type { UnknownObject } from "../a2a/unknown-json.js";
import { TaskFold } from "../client/task-fold.js";
import { judgeContext, judgeRole } from "./probe-send.js";
import { told } from "./speaker.js";
import {
  type Collected,
  collect,
  currentTask,
  expectRefusal,
  judge,
  messageOf,
  open,
  refusal,
  type Subject,
} from "./subject.js";

/** Streams an answer (§3.1.2) in a context that the agent knows. Gives the task. */
export async function probeStream(subject: Subject, contextId: string): Promise<string | undefined> {
  const { record, card } = subject;
  const request = { message: messageOf(subject, contextId === "" ? {} : { contextId }) };
  if (card.capabilities?.streaming !== true) {
    const outcome = await refusal(subject, "sendStreamingMessage", request);
    expectRefusal(subject, "capability.streaming", outcome, ["UNSUPPORTED_OPERATION"], "SendStreamingMessage");
    return undefined;
  }
  const opened = await open(subject, "sendStreamingMessage", request);
  if (opened.case !== "stream") {
    judge(record, "stream.first", opened, false);
    return undefined;
  }
  const collected = await collect(opened);
  const { events } = collected;
  const [first] = events;
  if (first?.message !== undefined) {
    record.expect("stream.first", events.length === 1, () => `a message, and ${events.length - 1} events after it`);
    judgeRole(subject, first.message, "the message");
    return undefined;
  }
  const fold = judgeEvents(subject, collected, "stream.first");
  const task = fold?.task;
  if (task === undefined) return undefined;
  subject.tasks.set(task.id, task);
  if (contextId !== "") judgeContext(subject, task.contextId, contextId);
  judgeEnd(subject, collected, fold?.state);
  await judgeSame(subject, task);
  return task.id;
}

/** The events of a task's stream, folded; `undefined` when it doesn't begin with the task. */
export function judgeEvents(
  { record }: Subject,
  { events }: Collected,
  rule: "stream.first" | "subscribe.first",
): TaskFold | undefined {
  let fold: TaskFold | undefined;
  let ended: TaskState | undefined;
  for (const [index, json] of events.entries()) {
    const event = readEvent(json);
    if (event === undefined) return fold; // told as a payload that breaks the contract
    const { payload } = event;
    if (index === 0) record.expect(rule, payload.case === "task", () => `first a ${payload.case}`);
    if (payload.case === "message") record.fail("stream.ids", "a message in the stream of a task");
    if (fold === undefined && payload.case !== "task") return undefined;
    if (ended !== undefined)
      record.expect("stream.closes", payload.case === "task", () => `a ${payload.case} after the last status`);
    if (fold?.task !== undefined) judgeIds(record, fold.task, event);
    fold = new TaskFold(fold, event);
    if (isTerminal(fold.state)) ended = fold.state;
  }
  return fold;
}

function judgeIds(record: Subject["record"], task: Task, { payload }: StreamResponse): void {
  if (payload.case === undefined || payload.case === "message") return;
  const { contextId } = payload.value;
  const id = payload.case === "task" ? payload.value.id : payload.value.taskId;
  const isSame = id === task.id && contextId === task.contextId;
  record.expect(
    "stream.ids",
    isSame,
    () => `a ${payload.case} of task ${id} in context ${contextId}, not of ${task.id} in ${task.contextId}`,
  );
}

function judgeEnd({ record }: Subject, { broken }: Collected, state: TaskState | undefined): void {
  const name = TaskState[state ?? 0] ?? String(state);
  if (broken === undefined) {
    record.pass("stream.closes");
    record.expect("stream.lasts", isSettled(state), () => `it ended while the task was ${name}`);
  } else if (broken.case !== "silent") record.fail("stream.closes", `it broke off: ${told(broken)}`);
  else if (isTerminal(state)) record.fail("stream.closes", `it stays open after ${name}: ${broken.why}`);
  else record.skip("stream.closes", `the task was still ${name}: ${broken.why}`);
}

/** Whether the task is what its stream said. */
async function judgeSame(subject: Subject, streamed: Task): Promise<void> {
  const { record } = subject;
  const state = streamed.status?.state;
  if (!isSettled(state)) return record.skip("stream.same", "the task hadn't ended when its stream did");
  const task = await currentTask(subject, streamed.id);
  if (task === undefined) return record.fail("stream.same", "GetTask doesn't give the task that was streamed");
  const shown = (one: Task) =>
    `${TaskState[one.status?.state ?? 0]} with ${one.artifacts.map(({ artifactId, parts }) => `${artifactId}: ${textOf(parts)}`).join(", ") || "no artifacts"}`;
  record.expect(
    "stream.same",
    shown(task) === shown(streamed),
    () => `${shown(streamed)} was streamed, ${shown(task)} is there`,
  );
}

/** Chunks may be joined as parts or as text. */
function textOf(parts: Task["artifacts"][number]["parts"]): string {
  return parts.map(({ content }) => (content.case === "text" ? content.value : `<${content.case}>`)).join("");
}

function readEvent(json: UnknownObject): StreamResponse | undefined {
  try {
    return decodeJson(StreamResponseSchema, json, { from: "peer" });
  } catch {
    return undefined;
  }
}
