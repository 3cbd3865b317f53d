import { errorTable } from "../a2a/errors.js";
import { isTerminal } from "../a2a/task-state.js";
import { TaskState } from "../a2a/types.js";
import { probeReturnImmediately } from "./probe-send.js";
import { judgeEvents } from "./probe-stream.js";
import { type OpenStream, type Outcome, told } from "./speaker.js";
import { call, collect, currentTask, judge, open, readTask, type Subject } from "./subject.js";

const RULES = ["subscribe.first", "subscribe.ends", "cancel.task", "cancel.again"] as const;

/** Subscribes to a task that goes on, and cancels it (§3.1.5, §3.1.6). */
export async function probeRunning(subject: Subject): Promise<void> {
  const { record, card } = subject;
  const sent = await probeReturnImmediately(subject, RULES);
  if (sent === undefined) return;
  const { id } = sent;
  if (await hasEnded(subject, id)) {
    for (const rule of RULES) record.skip(rule, "the task had ended before it could be followed or canceled");
    return;
  }
  const opened = card.capabilities?.streaming === true ? await open(subject, "subscribeToTask", { id }) : undefined;
  if (opened === undefined) {
    for (const rule of ["subscribe.first", "subscribe.ends"] as const) record.skip(rule, "the agent doesn't stream");
  } else if (opened.case !== "stream") {
    if (await hasEnded(subject, id)) record.skip("subscribe.first", "the task had ended before it could be followed");
    else if (opened.case === "unsent") record.skip("subscribe.first", opened.why);
    else record.fail("subscribe.first", told(opened)); // who says nothing at first loses what happened before (§3.1.6)
  }
  const stream = opened?.case === "stream" ? opened : undefined;
  const first = await stream?.next();
  await probeCancel(subject, id);
  if (stream !== undefined) await judgeSubscription(subject, stream, first);
}

async function judgeSubscription(subject: Subject, stream: OpenStream, first: Outcome | undefined): Promise<void> {
  const { record } = subject;
  const { events, broken } = await collect(stream);
  const all = first?.case === "result" ? [first.json, ...events] : events;
  const fold = judgeEvents(subject, { events: all, broken }, "subscribe.first");
  if (fold === undefined) return record.skip("subscribe.ends", "the subscription didn't begin with the task");
  const name = TaskState[fold.state ?? 0] ?? String(fold.state);
  if (isTerminal(fold.state)) {
    record.expect(
      "subscribe.ends",
      broken === undefined,
      () => `it doesn't end after ${name}: ${broken === undefined ? "" : told(broken)}`,
    );
    return;
  }
  const now = await currentTask(subject, fold.task?.id ?? "");
  if (!isTerminal(now?.status?.state)) return record.skip("subscribe.ends", "the task went on");
  if (broken === undefined && (fold.state === TaskState.INPUT_REQUIRED || fold.state === TaskState.AUTH_REQUIRED))
    return record.skip("subscribe.ends", `it closed when the task was ${name}, as §11.7 allows`);
  const seen = broken === undefined ? "it ended" : told(broken);
  record.fail("subscribe.ends", `${seen} while it said ${name}, but the task is ${TaskState[now?.status?.state ?? 0]}`);
}

/** Cancels a task, twice. */
export async function probeCancel(subject: Subject, id: string): Promise<void> {
  const { record, speaker } = subject;
  const outcome = await call(subject, "cancelTask", { id });
  const task = outcome.case === "result" ? readTask(outcome.json) : undefined;
  if (task === undefined) {
    const isRefused = outcome.case === "error" && outcome.error.code === errorTable.TASK_NOT_CANCELABLE[speaker.codes];
    if (!isRefused) return judge(record, "cancel.task", outcome, false);
    const because = (await hasEnded(subject, id))
      ? "the task had ended before it could be canceled"
      : "the agent can't cancel it";
    for (const rule of ["cancel.task", "cancel.again"] as const) record.skip(rule, because);
    return;
  }
  subject.tasks.set(id, task);
  const { status } = task;
  judge(record, "cancel.task", outcome, task.id === id);
  if (!isTerminal(status?.state)) return record.skip("cancel.again", "the task isn't canceled yet");
  if (status?.state !== TaskState.CANCELED) return record.skip("cancel.again", "the task ended in another way");
  const now = await currentTask(subject, id);
  record.expect(
    "cancel.task",
    now?.status?.state === TaskState.CANCELED,
    () => `CANCELED, and then GetTask says ${TaskState[now?.status?.state ?? 0]}`,
  );
  await probeCancelAgain(subject, id);
}

async function probeCancelAgain({ record, speaker, ...subject }: Subject, id: string): Promise<void> {
  const again = await call({ record, speaker, ...subject }, "cancelTask", { id });
  const codes = [errorTable.TASK_NOT_CANCELABLE, errorTable.TASK_NOT_FOUND].map((row) => row[speaker.codes]);
  const isFine =
    again.case === "result"
      ? readTask(again.json)?.status?.state === TaskState.CANCELED
      : again.case === "error" && codes.some((code) => code === again.error.code);
  judge(record, "cancel.again", again, isFine);
}

async function hasEnded(subject: Subject, id: string): Promise<boolean> {
  return isTerminal((await currentTask(subject, id))?.status?.state);
}
