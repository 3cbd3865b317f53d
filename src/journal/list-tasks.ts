import { type Kysely, sql } from "kysely";
import type { ListPage, ListQuery, Scope } from "./journal.js";
import { type Schema, toHead } from "./schema.js";

/** A page of an owner's tasks, newest status first (§3.1.4); by keyset, so that what comes and goes moves no later page. */
export async function listTasks(db: Kysely<Schema>, scope: Scope, query: ListQuery): Promise<ListPage> {
  const { after, limit } = query;
  let page = matching(db, scope, query).selectAll();
  if (after !== undefined) page = page.where(sql<boolean>`(status_at, id) < (${after.statusAt}, ${after.taskId})`);
  const rows = await page
    .orderBy("status_at", "desc")
    .orderBy("id", "desc")
    .limit(limit + 1)
    .execute();
  const total = query.count ? await countTasks(db, scope, query) : 0;
  return { heads: rows.slice(0, limit).map(toHead), more: rows.length > limit, total };
}

function matching(db: Kysely<Schema>, { tenant, owner }: Scope, { contextId, state, statusAfter }: ListQuery) {
  let tasks = db.selectFrom("task").where("tenant", "=", tenant).where("owner", "=", owner);
  if (contextId !== undefined) tasks = tasks.where("context", "=", contextId);
  if (state !== undefined) tasks = tasks.where("state", "=", state);
  if (statusAfter !== undefined) tasks = tasks.where("status_at", ">=", statusAfter);
  return tasks;
}

/** Exact: from the counters where they know, else by counting. */
async function countTasks(db: Kysely<Schema>, scope: Scope, query: ListQuery): Promise<number> {
  if (query.contextId === undefined && query.statusAfter === undefined) return await sumTallies(db, scope, query.state);
  const row = await matching(db, scope, query)
    .select(({ fn }) => fn.countAll<number>().as("n"))
    .executeTakeFirst();
  return Number(row?.n ?? 0);
}

async function sumTallies(db: Kysely<Schema>, { tenant, owner }: Scope, state: number | undefined): Promise<number> {
  let tallies = db.selectFrom("tally").where("tenant", "=", tenant).where("owner", "=", owner);
  if (state !== undefined) tallies = tallies.where("state", "=", state);
  const row = await tallies.select(({ fn }) => fn.sum<number | null>("n").as("n")).executeTakeFirst();
  return Number(row?.n ?? 0);
}
