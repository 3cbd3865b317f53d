import { equals, fromBinary } from "@bufbuild/protobuf";
import Database from "better-sqlite3";
import { TaskEventSchema } from "../../gen/nuncio/journal/v1/journal_pb.js";
import { isTerminal } from "../../src/a2a/task-state.js";
import { TaskSchema, TaskState } from "../../src/a2a/types.js";
import { Entry } from "../../src/journal/event.js";
import { fold } from "../../src/journal/projection.js";

interface Row {
  readonly [column: string]: unknown;
}

/** What is wrong with a journal's file, by plain SQL; empty if nothing is. */
export function checkJournalFile(file: string): string[] {
  const database = new Database(file, { readonly: true });
  try {
    const all = (statement: string, ...values: unknown[]) => database.prepare<unknown[], Row>(statement).all(...values);
    const problems: string[] = [];
    const integrity = database.pragma("integrity_check", { simple: true });
    if (integrity !== "ok") problems.push(`integrity_check: ${integrity}`);
    for (const task of all("select * from task")) problems.push(...checkTask(task, all));
    for (const { task } of all("select distinct task from event where task not in (select id from task)")) {
      problems.push(`entries of no task: ${task}`);
    }
    const tallied = all(
      "select tenant, owner, state, sum(n) as n from tally group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3",
    );
    const counted = all("select tenant, owner, state, count(*) as n from task group by 1, 2, 3 order by 1, 2, 3");
    if (JSON.stringify(tallied) !== JSON.stringify(counted)) {
      problems.push(`tallies ${JSON.stringify(tallied)}, tasks ${JSON.stringify(counted)}`);
    }
    return problems;
  } finally {
    database.close();
  }
}

function checkTask(task: Row, all: (statement: string, ...values: unknown[]) => Row[]): string[] {
  const id = String(task.id);
  const problems: string[] = [];
  const expected = { state: TaskState.SUBMITTED, status_at: 0, position: 0, last_message: 0, turn: 0 };
  const entries: Entry[] = [];
  let epoch = 0;
  for (const row of all("select position, at, body from event where task = ? order by position", id)) {
    const body = row.body as Uint8Array;
    const { kind, epoch: wroteIt } = fromBinary(TaskEventSchema, body);
    if (row.position !== expected.position + 1) problems.push(`${id}: ${row.position} after ${expected.position}`);
    if (isTerminal(expected.state)) problems.push(`${id}: an entry after the end`);
    if (wroteIt > 0 && wroteIt < epoch) problems.push(`${id}: epoch ${wroteIt} after ${epoch}`);
    epoch = Math.max(epoch, wroteIt);
    expected.position++;
    entries.push(new Entry(id, expected.position, Number(row.at), body));
    if (kind.case === "messageReceived") expected.last_message = expected.position;
    if (kind.case === "turnStarted") expected.turn = kind.value.turn;
    if (kind.case === "statusUpdated") expected.state = kind.value.state;
    if (kind.case === "turnStarted") expected.state = TaskState.WORKING;
    const timed = expected.position === 1 || kind.case === "turnStarted" || kind.case === "statusUpdated";
    if (timed) expected.status_at = Number(row.at);
  }
  for (const [column, value] of Object.entries(expected)) {
    if (task[column] !== value) problems.push(`${id}: ${column} is ${task[column]}, the log says ${value}`);
  }
  if (Number(task.epoch) < epoch) problems.push(`${id}: the head's epoch is older than the log's`);
  for (const { position, body } of all("select position, body from snapshot where task = ?", id)) {
    const whole = fold(undefined, entries.slice(0, Number(position)));
    if (!equals(TaskSchema, whole, fromBinary(TaskSchema, body as Uint8Array)))
      problems.push(`${id}: snapshot at ${position}`);
  }
  return problems;
}
