import { encodeJson } from "../a2a/codec.js";
import { TaskSchema } from "../a2a/types.js";
import { isObject } from "../a2a/unknown-json.js";
import type { Verdicts } from "./report.js";
import { excerpt, told } from "./speaker.js";
import { call, readTask, type Subject } from "./subject.js";

/** Compares the bindings with one another (§5.1): the same tasks, lists and errors. */
export async function compareBindings(record: Verdicts, subjects: readonly Subject[]): Promise<void> {
  const [first, ...others] = subjects;
  if (first === undefined || others.length === 0) {
    for (const rule of ["equal.task", "equal.list", "equal.errors"] as const)
      record.skip(rule, "there are no two bindings that answer");
    return;
  }
  compareErrors(record, first, others);
  const task = [...first.tasks.values()][0];
  if (task === undefined) {
    for (const rule of ["equal.task", "equal.list"] as const) record.skip(rule, "the agent makes no tasks");
    return;
  }
  const views = await Promise.all(subjects.map((subject) => taskSeen(subject, task.id)));
  const lists = await Promise.all(subjects.map((subject) => idsSeen(subject, task.contextId)));
  for (const [index, { speaker }] of subjects.entries()) {
    if (index === 0) continue;
    record.expect("equal.task", views[index] === views[0], () =>
      difference(views[0], views[index], first, speaker.binding),
    );
    record.expect("equal.list", lists[index] === lists[0], () =>
      difference(lists[0], lists[index], first, speaker.binding),
    );
  }
}

function compareErrors(record: Verdicts, first: Subject, others: readonly Subject[]): void {
  for (const { speaker, refusals } of others) {
    for (const [what, reason] of refusals) {
      const expected = first.refusals.get(what);
      if (expected === undefined || what.startsWith("A2A-Version")) continue;
      const seen = () => `${what}: ${expected} over ${first.speaker.binding}, ${reason} over ${speaker.binding}`;
      record.expect("equal.errors", reason === expected, seen);
    }
  }
}

/** The task as a binding shows it, in one form for all of them. */
async function taskSeen(subject: Subject, id: string): Promise<string> {
  const outcome = await call(subject, "getTask", { id });
  const task = outcome.case === "result" ? readTask(outcome.json) : undefined;
  return task === undefined ? told(outcome) : JSON.stringify(encodeJson(TaskSchema, task));
}

async function idsSeen(subject: Subject, contextId: string): Promise<string> {
  const outcome = await call(subject, "listTasks", { contextId });
  if (outcome.case !== "result" || !Array.isArray(outcome.json.tasks)) return told(outcome);
  return outcome.json.tasks.map((task) => (isObject(task) ? String(task.id) : "")).join(", ");
}

function difference(one = "", other = "", { speaker }: Subject, binding: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const from = Math.max(0, at - 40);
  return `${speaker.binding}: …${excerpt(one.slice(from))} but ${binding}: …${excerpt(other.slice(from))}`;
}
