import { errorTable } from "../a2a/errors.js";
import { isSettled } from "../a2a/task-state.js";
import { type Task, TaskState } from "../a2a/types.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import type { RuleId } from "./rules.js";
import { told } from "./speaker.js";
import { call, judge, messageOf, readTask, type Subject } from "./subject.js";

/** Longest wait for an answer that has to come at once, in milliseconds. */
const AT_ONCE_MS = 10_000;

/** How the agent answered the first message. */
export type FirstAnswer =
  | { readonly case: "task"; readonly id: string; readonly contextId: string }
  | { readonly case: "message" }
  /** Not yet: it takes longer than anyone waits here. */
  | { readonly case: "slow" }
  /** Nothing more can be checked that needs an answer. */
  | { readonly case: "none"; readonly because: string };

/** Sends, and waits for the answer (§3.1.1, §3.2.2). Remembers the task. */
export async function probeSend(subject: Subject): Promise<FirstAnswer> {
  const { record } = subject;
  const outcome = await call(subject, "sendMessage", { message: messageOf(subject) });
  if (outcome.case === "silent") {
    record.skip("send.blocks", outcome.why);
    return { case: "slow" };
  }
  if (outcome.case === "error") {
    const { isUnauthenticated, challenge } = outcome.error;
    if (isUnauthenticated) judge(record, "auth.challenge", outcome, challenge !== undefined);
    const because = `the agent refuses ${JSON.stringify(subject.text)} with ${told(outcome)}`;
    record.skip("send.answers", because);
    return { case: "none", because };
  }
  if (outcome.case !== "result") {
    judge(record, "send.answers", outcome, false);
    return { case: "none", because: told(outcome) };
  }
  return judgeAnswer(subject, outcome.json);
}

function judgeAnswer(subject: Subject, { task: sentTask, message }: UnknownObject): FirstAnswer {
  const { record, tasks } = subject;
  const task = readTask(sentTask);
  const isMessage = isObject(message);
  record.expect("send.answers", task !== undefined || isMessage, () => "neither a task with an id nor a message");
  if (isMessage) {
    judgeRole(subject, message, "the answer");
    record.skip("send.blocks", "the agent answers with a message, so there is no task");
    return { case: "message" };
  }
  if (task === undefined) return { case: "none", because: "the answer to a message has neither task nor message" };
  const state = task.status?.state;
  record.expect("send.blocks", isSettled(state), () => `a task that is ${TaskState[state ?? 0] ?? state}`);
  if (task.status?.message !== undefined && isObject(sentTask) && isObject(sentTask.status))
    judgeRole(subject, sentTask.status.message, "status.message");
  tasks.set(task.id, task);
  return { case: "task", id: task.id, contextId: task.contextId };
}

/** What the agent says is the agent's (§4.1.5). */
export function judgeRole({ record }: Subject, message: unknown, what: string): void {
  if (!isObject(message)) return;
  record.expect(
    "message.role",
    message.role === "ROLE_AGENT",
    () => `${what} has role ${JSON.stringify(message.role)}`,
  );
}

/** Sends without waiting. Gives the task if it is still going on, and else says why there is none. */
export async function probeReturnImmediately(subject: Subject, rules: readonly RuleId[]): Promise<Task | undefined> {
  const { record } = subject;
  const skip = (because: string): undefined => {
    for (const rule of rules) record.skip(rule, because);
  };
  const outcome = await call(
    subject,
    "sendMessage",
    { message: messageOf(subject), configuration: { returnImmediately: true } },
    { timeoutMs: Math.min(subject.timeoutMs, AT_ONCE_MS) },
  );
  if (outcome.case !== "result") {
    judge(record, "send.immediately", outcome, false);
    return skip(`returnImmediately gave no task: ${told(outcome)}`);
  }
  record.pass("send.immediately");
  const task = readTask(outcome.json.task);
  if (task === undefined) return skip("the agent answers with a message, so there is no task");
  subject.tasks.set(task.id, task);
  return task;
}

/** A message in a context that the agent has: it is in it (§3.4.1). */
export function judgeContext({ record }: Subject, contextId: string, sent: string): void {
  record.expect("context.kept", contextId === sent, () => `sent ${sent}, got ${JSON.stringify(contextId)}`);
}

/**
 * Writes to a task that is open as if it were of another context (§3.4.3). It may be refused for something else as well, which says
 * nothing of that: only invalid parameters do.
 */
export async function probeMismatch(subject: Subject, taskId: string): Promise<void> {
  const { record, speaker } = subject;
  const outcome = await call(subject, "sendMessage", {
    message: messageOf(subject, { taskId, contextId: subject.runtime.id() }),
    configuration: { returnImmediately: true },
  });
  if (outcome.case !== "error") return judge(record, "context.mismatch", outcome, false);
  const { code, reason = "INVALID_PARAMS" } = outcome.error;
  if (code === errorTable.INVALID_PARAMS[speaker.codes] && reason === "INVALID_PARAMS") record.pass("context.mismatch");
  else record.skip("context.mismatch", `it was refused, but perhaps for something else: ${told(outcome)}`);
}

/** Answers a task that asks (§3.4.3): the same task goes on, in its context, and in no other. */
export async function probeFollowUp(subject: Subject): Promise<void> {
  const { record, tasks } = subject;
  const asking = [...tasks.values()].find(({ status }) => status?.state === TaskState.INPUT_REQUIRED);
  if (asking === undefined) {
    record.skip("follow-up.same", "no task asks for anything");
    return;
  }
  const { id, contextId } = asking;
  await probeMismatch(subject, id);
  const outcome = await call(subject, "sendMessage", { message: messageOf(subject, { taskId: id }) });
  const task = outcome.case === "result" ? readTask(outcome.json.task) : undefined;
  judge(record, "follow-up.same", outcome, task?.id === id && task.contextId === contextId);
  if (task !== undefined) tasks.set(task.id, task);
}
