import { errorTable } from "../a2a/errors.js";
import { isTerminal } from "../a2a/task-state.js";
import { type Task, TaskState } from "../a2a/types.js";
import { probeMismatch, probeReturnImmediately } from "./probe-send.js";
import { judgeEvents } from "./probe-stream.js";
import { type OpenStream, type Outcome, told } from "./speaker.js";
import { call, collect, currentTask, judge, open, readTask, type Subject } from "./subject.js";

const RULES = ["subscribe.first", "subscribe.ends", "cancel.task", "cancel.again", "context.mismatch"] as const;
const TOO_SHORT =
  "the task had ended before it could be followed or canceled: send what keeps the agent busy for seconds, with --text";

/** Subscribes to a task that goes on, writes to it as if it were another's, and cancels it (§3.1.5, §3.1.6, §3.4.3). */
export async function probeRunning(subject: Subject): Promise<void> {
  const { record } = subject;
  const sent = await probeReturnImmediately(subject, RULES);
  if (sent === undefined) return;
  const opened = await subscribe(subject, sent);
  if (opened?.case !== "stream" && (await hasEnded(subject, sent.id))) {
    for (const rule of RULES) record.skip(rule, TOO_SHORT);
    return;
  }
  const stream = opened?.case === "stream" ? opened : undefined;
  if (opened?.case === "unsent") record.skip("subscribe.first", opened.why);
  // Who says nothing at first loses what happened before (§3.1.6).
  else if (opened !== undefined && stream === undefined) record.fail("subscribe.first", told(opened));
  const first = await stream?.next();
  await probeMismatch(subject, sent.id);
  await probeCancel(subject, sent.id);
  if (stream !== undefined) await judgeSubscription(subject, stream, first);
}

/** At once: whatever is asked in between, a short task ends meanwhile. */
async function subscribe(subject: Subject, { id, status }: Task): Promise<OpenStream | Outcome | undefined> {
  const { record, card } = subject;
  if (card.capabilities?.streaming === true)
    return isTerminal(status?.state) ? undefined : await open(subject, "subscribeToTask", { id });
  for (const rule of ["subscribe.first", "subscribe.ends"] as const) record.skip(rule, "the agent doesn't stream");
  return undefined;
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
    const because = (await hasEnded(subject, id)) ? TOO_SHORT : "the agent can't cancel it";
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

async function probeCancelAgain(subject: Subject, id: string): Promise<void> {
  const { record, speaker } = subject;
  const again = await call(subject, "cancelTask", { id });
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
