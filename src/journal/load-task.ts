import { fromBinary } from "@bufbuild/protobuf";
import type { Kysely } from "kysely";
import { type Task, TaskSchema } from "../a2a/types.js";
import { Entry } from "./event.js";
import type { FoldCache } from "./fold-cache.js";
import { fold } from "./projection.js";
import type { Schema } from "./schema.js";

/** Entries that are folded at once. */
const FOLD_PAGE = 1_024;

/** Entries after a position, in order. */
export async function readEntries(
  db: Kysely<Schema>,
  taskId: string,
  after: number,
  limit: number,
): Promise<readonly Entry[]> {
  const rows = await db
    .selectFrom("event")
    .select(["position", "at", "body"])
    .where("task", "=", taskId)
    .where("position", ">", after)
    .orderBy("position")
    .limit(limit)
    .execute();
  return rows.map(({ position, at, body }) => new Entry(taskId, position, at, body));
}

/** The task as of a position that its log has reached: from what is at hand, else from the newest snapshot before it. */
export async function loadTask(db: Kysely<Schema>, cache: FoldCache, taskId: string, position: number): Promise<Task> {
  let { task, at, bytes } = cache.get(taskId, position) ?? (await newestSnapshot(db, taskId, position));
  while (at < position) {
    const entries = await readEntries(db, taskId, at, Math.min(FOLD_PAGE, position - at));
    if (entries.length === 0) throw new Error(`The log of task ${taskId} ends at ${at}, before ${position}`);
    task = fold(task, entries);
    at += entries.length;
    bytes += entries.reduce((sum, { size }) => sum + size, 0);
  }
  if (task === undefined) throw new Error(`The log of task ${taskId} is empty`);
  cache.put(taskId, { task, at, bytes });
  return task;
}

async function newestSnapshot(db: Kysely<Schema>, taskId: string, position: number) {
  const row = await db
    .selectFrom("snapshot")
    .select(["position", "body"])
    .where("task", "=", taskId)
    .where("position", "<=", position)
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return { task: undefined, at: 0, bytes: 0 };
  return { task: fromBinary(TaskSchema, row.body), at: row.position, bytes: row.body.byteLength };
}
