import type BetterSqlite3 from "better-sqlite3";
import { Kysely, type KyselyPlugin, type RawBuilder, SqliteDialect, sql } from "kysely";
import { A2AError } from "../a2a/errors.js";
import { pause } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";
import type { GroupOptions, Outcome, Prepared } from "./append-group.js";
import { Disk, identityOf, openSynced as openFile, type SyncedFile } from "./disk.js";
import { type ColumnTypes, migrate } from "./migrations.js";
import type { Schema } from "./schema.js";
import { sqliteAppendGroup } from "./sqlite-append-group.js";

/** A database that holds journals, and everything in which it differs from others. */
export interface JournalDatabase {
  /** Single statements only: a transaction of its own would get in the way of `appendGroup` on SQLite's one connection. */
  readonly kysely: Kysely<Schema>;
  /**
   * Decides and writes a group in one transaction, and resolves when that is on the disk. Rejects if nothing of it was written; after a
   * disk has failed for good, for whatever was written, and then always. At most one member a task, and one a key.
   */
  readonly appendGroup: (group: readonly Prepared[], options: GroupOptions) => Promise<readonly Outcome[]>;
  /** Whether an error says that another process was writing: try again soon. */
  readonly isBusy: (error: unknown) => boolean;
  /** The list as rows with one column, `value`, so that a statement doesn't change with the list's length. */
  readonly rowsOf: (values: readonly string[]) => RawBuilder<{ value: string }>;
  /** @throws when the database isn't where it was opened any more: what is written now would be lost. */
  readonly assertInPlace: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** How long a statement itself waits for another process's write. Short: it blocks the event loop; waiting longer is the caller's. */
const BUSY_TIMEOUT_MS = 100;
/** A checkpoint after so many pages of log (16 MiB): a page that changes often is copied once for all of them. */
const CHECKPOINT_PAGES = 4_000;
const OPEN_ATTEMPTS = 100;
const STATEMENTS_KEPT = 200;

const sqliteTypes: ColumnTypes = {
  integer: sql`integer`,
  bytes: sql`blob`,
  serial: sql`integer primary key`,
  clustered: sql`without rowid`,
};

/** What opening a database takes. */
export interface OpenOptions {
  readonly runtime: Runtime;
  /** How a file is put on its disk. Default: by the system. */
  readonly openSynced?: ((path: string) => Promise<SyncedFile>) | undefined;
}

/** Opens what a target names: `memory:`, or `sqlite:FILE` with a path from the working directory. Errors are one line each. */
export async function openDatabase(target: string, options: OpenOptions): Promise<JournalDatabase> {
  if (target === "memory:") return openSqlite(":memory:", options);
  const file = target.startsWith("sqlite:") ? target.slice("sqlite:".length) : "";
  if (file !== "" && file !== ":memory:") return openSqlite(file, options);
  throw new A2AError("INTERNAL", `"${target}" names no journal: use memory: or sqlite:FILE`);
}

async function openSqlite(file: string, options: OpenOptions): Promise<JournalDatabase> {
  const Database = await loadDriver();
  for (let attempt = 1; ; attempt++) {
    let database: BetterSqlite3.Database | undefined;
    try {
      database = new Database(file, { timeout: BUSY_TIMEOUT_MS });
      return await prepareSqlite(database, file, options);
    } catch (cause) {
      database?.close();
      // Another process may be making the same file, or putting it in order after a crash.
      if (!isBusy(cause) || attempt === OPEN_ATTEMPTS) throw openError(file, cause);
    }
    await pause(options.runtime, BUSY_TIMEOUT_MS);
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
  { runtime, openSynced = openFile }: OpenOptions,
): Promise<JournalDatabase> {
  database.pragma("synchronous = full");
  database.pragma("cache_size = -16000");
  await migrateSqlite(database, runtime);
  // Only now that the file is known to be ours: the mode stays with it.
  const disk = file === ":memory:" ? undefined : await makeDurable(database, openSynced, runtime);
  const kysely = kyselyOf(database, disk);
  const identity = disk && (await identityOf(file));
  return {
    kysely,
    appendGroup: sqliteAppendGroup(database, disk),
    isBusy,
    rowsOf: (values) => sql<{ value: string }>`json_each(${JSON.stringify(values)})`,
    async assertInPlace() {
      if (identity === undefined || (await identityOf(file)) === identity) return;
      throw new Error(`${file} isn't the file any more that was opened; restart the server`);
    },
    async close() {
      await kysely.destroy();
      await disk?.close();
    },
  };
}

async function migrateSqlite(database: BetterSqlite3.Database, runtime: Runtime): Promise<void> {
  await kyselyOf(database, undefined)
    .connection()
    .execute(async (connection) => {
      await sql`begin immediate`.execute(connection);
      await migrate(connection, sqliteTypes, runtime.now());
      await sql`commit`.execute(connection);
    });
}

/**
 * From here on SQLite doesn't wait for the disk at each commit, which would hold up the event loop; `Disk` does, before anybody hears of
 * the commit. Checkpoints still sync in order, so that a power cut leaves a whole journal.
 */
async function makeDurable(
  database: BetterSqlite3.Database,
  openSynced: (path: string) => Promise<SyncedFile>,
  runtime: Runtime,
): Promise<Disk> {
  const mode = database.pragma("journal_mode = wal", { simple: true });
  // A network file system may refuse it; then what was acknowledged could be lost.
  if (mode !== "wal") throw new A2AError("INTERNAL", `it can't be made durable (journal_mode ${mode})`);
  // The first commit of a log that is new puts its directory entry on the disk as well.
  database.exec("begin immediate; update migration set at = at; commit");
  database.pragma("synchronous = normal");
  database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  const [{ file }] = database.pragma("database_list") as [{ file: string }];
  return new Disk(await openSynced(`${file}-wal`), runtime);
}

/** Nobody reads what isn't on the disk yet, whichever process has written it. */
function kyselyOf(database: BetterSqlite3.Database, disk: Disk | undefined): Kysely<Schema> {
  if (disk === undefined)
    return new Kysely({ dialect: new SqliteDialect({ database: keepingStatements(database, () => {}) }) });
  const version = database.prepare<[], number>("pragma data_version").pluck();
  let known = version.get();
  const settle: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const now = version.get();
      if (now !== known) disk.committed();
      known = now;
      await disk.settled();
      return result;
    },
  };
  const dialect = new SqliteDialect({
    database: keepingStatements(database, () => {
      disk.assertSound();
      disk.committed();
    }),
  });
  return new Kysely({ dialect, plugins: [settle] });
}

function isBusy(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"));
}

/** Kysely prepares a statement each time; most of what a read costs is saved by keeping them. */
function keepingStatements(database: BetterSqlite3.Database, onWrite: () => void) {
  const kept = new Map<string, BetterSqlite3.Statement<unknown[]>>();
  return {
    prepare(text: string) {
      const statement = kept.get(text) ?? database.prepare<unknown[]>(text);
      if (kept.size >= STATEMENTS_KEPT) kept.clear();
      kept.set(text, statement);
      if (!statement.readonly) onWrite();
      return statement;
    },
    close: () => database.close(),
  };
}
