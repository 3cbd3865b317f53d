import { type Kysely, type RawBuilder, sql } from "kysely";
import { A2AError } from "../a2a/errors.js";
import type { Schema } from "./schema.js";

/** How a database spells what the schema is made of. */
export interface ColumnTypes {
  /** Integers up to 2^53. */
  readonly integer: RawBuilder<unknown>;
  readonly bytes: RawBuilder<unknown>;
  /** A key that the database counts up itself. */
  readonly serial: RawBuilder<unknown>;
  /** Ends a table that is kept in the order of its key. */
  readonly clustered: RawBuilder<unknown>;
}

type Migration = (db: Kysely<Schema>, types: ColumnTypes) => Promise<void>;

/** Append-only: a migration that was released is never changed. Its number is its place, from 1. */
const migrations: readonly Migration[] = [firstTables];

async function firstTables(db: Kysely<Schema>, { integer, bytes, serial, clustered }: ColumnTypes): Promise<void> {
  const statements = [
    sql`create table task (
      id text primary key, tenant text not null, owner text not null, principal text not null, agent text not null,
      skill text, context text not null, state integer not null, status_at ${integer} not null,
      created_at ${integer} not null, position integer not null, last_message integer not null, epoch integer not null,
      holder text, due_at ${integer}, turn integer not null, attempt integer not null, snapshot integer not null
    ) ${clustered}`,
    sql`create index task_by_status on task (tenant, owner, status_at desc, id desc)`,
    sql`create index task_by_context on task (tenant, owner, context)`,
    sql`create index task_due on task (due_at) where holder is null and due_at is not null`,
    sql`create index task_held on task (holder) where holder is not null`,
    sql`create table event (
      n ${serial}, task text not null, position integer not null, kind integer not null, at ${integer} not null,
      body ${bytes} not null, unique (task, position)
    )`,
    sql`create table snapshot (
      task text not null, position integer not null, body ${bytes} not null, primary key (task, position)
    )`,
    // Kept as they come, so that the oldest are the first; only the slim index of keys is written to at random.
    sql`create table seen (
      n ${serial}, key ${bytes} not null unique, task text, position integer not null, reply ${bytes}, at ${integer} not null
    )`,
    sql`create table tally (
      tenant text not null, owner text not null, state integer not null, slot integer not null, n ${integer} not null,
      primary key (tenant, owner, state, slot)
    ) ${clustered}`,
    sql`create table instance (
      id text primary key, slot integer not null unique, host text not null, pid integer not null,
      expires_at ${integer} not null
    )`,
  ];
  for (const statement of statements) await statement.execute(db);
}

/**
 * Brings the schema up to date, inside a transaction that the caller holds. Refuses a database that isn't a journal, and one that a
 * newer release has changed.
 */
export async function migrate(db: Kysely<Schema>, types: ColumnTypes, now: number): Promise<void> {
  const tables = (await db.introspection.getTables()).map(({ name }) => name);
  if (!tables.includes("migration")) {
    if (tables.length > 0)
      throw new A2AError("INTERNAL", `it is another program's database (it has a table "${tables[0]}")`);
    await sql`create table migration (number integer primary key, at ${types.integer} not null)`.execute(db);
  }
  const newest = await db
    .selectFrom("migration")
    .select(({ fn }) => fn.max("number").as("number"))
    .executeTakeFirst();
  const done = newest?.number ?? 0;
  if (done > migrations.length) {
    throw new A2AError("INTERNAL", `a newer release wrote it (schema ${done}, this one knows ${migrations.length})`);
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < done) continue;
    await migration(db, types);
    await db
      .insertInto("migration")
      .values({ number: index + 1, at: now })
      .execute();
  }
}
