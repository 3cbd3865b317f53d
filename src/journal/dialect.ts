import type BetterSqlite3 from "better-sqlite3";
import { Kysely, type RawBuilder, SqliteDialect, sql } from "kysely";
import { A2AError } from "../a2a/errors.js";
import { pause } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";
import type { GroupOptions, Outcome, Prepared } from "./append-group.js";
import { type ColumnTypes, migrate } from "./migrations.js";
import type { Schema } from "./schema.js";
import { sqliteAppendGroup } from "./sqlite-append-group.js";

/** A database that holds journals, and everything in which it differs from others. */
export interface JournalDatabase {
  /** Single statements only: a transaction of its own would get in the way of `appendGroup` on SQLite's one connection. */
  readonly kysely: Kysely<Schema>;
  /**
   * Decides and writes a group in one transaction; rejects if nothing of it was written. At most one member a task, and one a key.
   */
  readonly appendGroup: (group: readonly Prepared[], options: GroupOptions) => Promise<readonly Outcome[]>;
  /** Whether an error says that another process was writing: try again soon. */
  readonly isBusy: (error: unknown) => boolean;
  /** The list as rows with one column, `value`, so that a statement doesn't change with the list's length. */
  readonly rowsOf: (values: readonly string[]) => RawBuilder<{ value: string }>;
  readonly close: () => Promise<void>;
}

/** How long a statement itself waits for another process's write. Short: it blocks the event loop; waiting longer is the caller's. */
const BUSY_TIMEOUT_MS = 100;
const OPEN_ATTEMPTS = 100;
const STATEMENTS_KEPT = 200;

const sqliteTypes: ColumnTypes = {
  integer: sql`integer`,
  bytes: sql`blob`,
  serial: sql`integer primary key`,
  clustered: sql`without rowid`,
};

/** Opens what a target names: `memory:`, or `sqlite:FILE` with a path from the working directory. Errors are one line each. */
export async function openDatabase(target: string, runtime: Runtime): Promise<JournalDatabase> {
  if (target === "memory:") return openSqlite(":memory:", runtime);
  const file = target.startsWith("sqlite:") ? target.slice("sqlite:".length) : "";
  if (file !== "" && file !== ":memory:") return openSqlite(file, runtime);
  throw new A2AError("INTERNAL", `"${target}" names no journal: use memory: or sqlite:FILE`);
}

async function openSqlite(file: string, runtime: Runtime): Promise<JournalDatabase> {
  const Database = await loadDriver();
  for (let attempt = 1; ; attempt++) {
    let database: BetterSqlite3.Database | undefined;
    try {
      database = new Database(file, { timeout: BUSY_TIMEOUT_MS });
      return await prepareSqlite(database, file, runtime);
    } catch (cause) {
      database?.close();
      // Another process may be making the same file, or putting it in order after a crash.
      if (!isBusy(cause) || attempt === OPEN_ATTEMPTS) throw openError(file, cause);
    }
    await pause(runtime, BUSY_TIMEOUT_MS);
  }
}

async function loadDriver(): Promise<typeof BetterSqlite3> {
  try {
    return (await import("better-sqlite3")).default;
  } catch (cause) {
    throw new A2AError("INTERNAL", "The journal needs SQLite's driver: npm install better-sqlite3@12", { cause });
  }
}

function openError(file: string, cause: unknown): A2AError {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new A2AError("INTERNAL", `Can't open ${file} as a journal: ${said}`, { cause });
}

async function prepareSqlite(
  database: BetterSqlite3.Database,
  file: string,
  runtime: Runtime,
): Promise<JournalDatabase> {
  const kysely = new Kysely<Schema>({ dialect: new SqliteDialect({ database: keepingStatements(database) }) });
  database.pragma("synchronous = full");
  database.pragma("cache_size = -16000");
  await kysely.connection().execute(async (connection) => {
    await sql`begin immediate`.execute(connection);
    await migrate(connection, sqliteTypes, runtime.now());
    await sql`commit`.execute(connection);
  });
  // Only now that the file is known to be ours: the mode stays with it.
  if (file !== ":memory:") makeDurable(database);
  return {
    kysely,
    appendGroup: sqliteAppendGroup(database),
    isBusy,
    rowsOf: (values) => sql<{ value: string }>`json_each(${JSON.stringify(values)})`,
    close: () => kysely.destroy(),
  };
}

function makeDurable(database: BetterSqlite3.Database): void {
  const mode = database.pragma("journal_mode = wal", { simple: true });
  const synchronous = database.pragma("synchronous", { simple: true });
  // A network file system may refuse the first; without both, what was acknowledged could be lost.
  if (mode !== "wal" || synchronous !== 2) {
    throw new A2AError("INTERNAL", `it can't be made durable (journal_mode ${mode}, synchronous ${synchronous})`);
  }
}

function isBusy(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"));
}

/** Kysely prepares a statement each time; most of what a read costs is saved by keeping them. */
function keepingStatements(database: BetterSqlite3.Database) {
  const kept = new Map<string, BetterSqlite3.Statement<unknown[]>>();
  return {
    prepare(text: string) {
      const statement = kept.get(text) ?? database.prepare<unknown[]>(text);
      if (kept.size >= STATEMENTS_KEPT) kept.clear();
      kept.set(text, statement);
      return statement;
    },
    close: () => database.close(),
  };
}
