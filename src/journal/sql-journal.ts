import { A2AError } from "../a2a/errors.js";
import type { Task } from "../a2a/types.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import {
  type GuardedRequest,
  KEY_WINDOW_MS,
  mayRead,
  type Outcome,
  type Prepared,
  prepareAppend,
} from "./append-group.js";
import { CommitGroups } from "./commit-group.js";
import type { JournalDatabase } from "./dialect.js";
import { FoldCache } from "./fold-cache.js";
import { Instance } from "./instance.js";
import {
  type AppendRequest,
  type AppendResult,
  everyOwner,
  type Head,
  type Journal,
  type Leases,
  type Listener,
  type ListQuery,
  type LoadedTask,
  type Reader,
  type Scope,
} from "./journal.js";
import { createLeases } from "./leases.js";
import { listTasks } from "./list-tasks.js";
import { loadTask, readEntries } from "./load-task.js";
import { toDuplicate, toHead } from "./schema.js";
import { Tails } from "./tails.js";
import { createWhenFree, type WhenFree } from "./when-free.js";

/** What every journal in a database takes. */
export interface SqlJournalOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How long after its last heartbeat an instance counts as alive, in milliseconds. Default 10 000. */
  readonly leaseMs?: number | undefined;
  /** The longest that a lost wake-up, or another process's append, goes unseen, in milliseconds. Default 1 000. */
  readonly pollMs?: number | undefined;
  /** Entries of a followed task that are kept at hand. Default 256. */
  readonly ringSize?: number | undefined;
  /** Entries that a follower who is behind those reads at once. Default 64. */
  readonly pageSize?: number | undefined;
  /** Appends that are committed together at most. Default 128. */
  readonly groupSize?: number | undefined;
  /** A task is stored whole after about so many entries. Default 64. */
  readonly snapshotAfter?: number | undefined;
}

const READ_LIMIT = 256;
/** More would outlive the collector's young generation, which costs more than the reads that it saves. */
const CACHE_LIMITS = { tasks: 256, bytes: 64 * 1024 * 1024 };

/** The journal in a database that is open and up to date. It closes it in the end. */
export async function createSqlJournal(database: JournalDatabase, options: SqlJournalOptions): Promise<Journal> {
  const { runtime, logger, leaseMs = 10_000 } = options;
  const whenFree = createWhenFree(runtime, database.isBusy);
  const instance = new Instance({ runtime, logger, database, whenFree, leaseMs });
  await instance.open();
  return new SqlJournal(database, options, instance, whenFree);
}

class SqlJournal implements Journal {
  readonly leases: Leases;
  readonly #database: JournalDatabase;
  readonly #options: SqlJournalOptions;
  readonly #instance: Instance;
  readonly #groups: CommitGroups;
  readonly #tails: Tails;
  readonly #cache = new FoldCache(CACHE_LIMITS);
  #closing: Promise<void> | undefined;

  constructor(database: JournalDatabase, options: SqlJournalOptions, instance: Instance, whenFree: WhenFree) {
    const { runtime, logger, pollMs = 1_000, ringSize = 256, pageSize = 64, groupSize = 128 } = options;
    const db = database.kysely;
    this.#database = database;
    this.#options = options;
    this.#instance = instance;
    this.#groups = new CommitGroups({
      runtime,
      groupSize,
      commit: (group) => whenFree(() => this.#commit(group)),
      isBusy: database.isBusy,
      onCommitted: (outcome) => this.#committed(outcome),
    });
    this.#tails = new Tails({
      runtime,
      logger,
      pollMs,
      ringSize,
      pageSize,
      read: (taskId, after, limit) => readEntries(db, taskId, after, limit),
      positions: (taskIds) => this.#positions(taskIds),
    });
    this.leases = createLeases({
      runtime,
      db,
      instance,
      append: (request) => this.#append(request),
    });
  }

  get instance(): string {
    return this.#instance.id;
  }

  append(request: AppendRequest): Promise<AppendResult> {
    return request.take === undefined ? this.#append(request) : this.#take(request);
  }

  async #take(request: AppendRequest): Promise<AppendResult> {
    this.leases.taking++;
    try {
      const result = await this.#append(request);
      const lease = result.kind === "ok" ? result.lease : undefined;
      if (lease !== undefined) this.#tell(() => this.leases.onTaken(lease));
      return result;
    } finally {
      this.leases.taking--;
    }
  }

  async head(taskId: string, reader: Reader): Promise<Head | undefined> {
    const select = this.#database.kysely.selectFrom("task").selectAll().where("id", "=", taskId);
    const row = await this.#whileOpen(select.executeTakeFirst());
    const head = row && toHead(row);
    return head && mayRead(reader, head) ? head : undefined;
  }

  async load(taskId: string, reader: Reader, position?: number): Promise<LoadedTask | undefined> {
    if (reader === everyOwner && position !== undefined) {
      const { task, at } = this.#cache.get(taskId, position) ?? {};
      if (task !== undefined && at === position) return { task, position }; // a log's prefix never changes
    }
    const head = await this.head(taskId, reader);
    const at = Math.min(position ?? Number.POSITIVE_INFINITY, head?.position ?? 0);
    if (head === undefined || at < 1) return undefined;
    const task = await this.#whileOpen(loadTask(this.#database.kysely, this.#cache, taskId, at));
    return { task, position: at };
  }

  read(taskId: string, after: number, limit = READ_LIMIT) {
    return this.#whileOpen(readEntries(this.#database.kysely, taskId, after, limit));
  }

  follow(taskId: string, after: number, signal?: AbortSignal) {
    return this.#tails.follow(taskId, after, signal);
  }

  watch(taskId: string, after: number, listener: Listener, signal?: AbortSignal) {
    return this.#tails.watch(taskId, after, listener, signal);
  }

  list(reader: Scope, query: ListQuery) {
    return this.#whileOpen(listTasks(this.#database.kysely, reader, query));
  }

  async recall(key: Uint8Array) {
    const select = this.#database.kysely
      .selectFrom("seen")
      .selectAll()
      .where("key", "=", key)
      .where("at", ">", this.#options.runtime.now() - KEY_WINDOW_MS);
    const row = await this.#whileOpen(select.executeTakeFirst());
    return row && toDuplicate(row);
  }

  async remember(key: Uint8Array, reply: Uint8Array) {
    const { result } = await this.#submit({ kind: "reply", key, reply });
    return result?.kind === "duplicate" ? result : undefined;
  }

  async ready(): Promise<boolean> {
    if (this.#closing !== undefined) return false;
    try {
      await this.#database.kysely.selectFrom("migration").select("number").limit(1).execute();
      await this.#database.assertInPlace();
      return true;
    } catch (error) {
      this.#options.logger.error({ err: error }, "The journal's database doesn't answer");
      return false;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#groups.flush();
    this.#tails.close();
    try {
      await this.#instance.close();
    } finally {
      await this.#database.close();
    }
  }

  async #append(request: GuardedRequest): Promise<AppendResult> {
    const { result } = await this.#submit(prepareAppend(request));
    if (result === undefined) throw new A2AError("INTERNAL", "An append has no result");
    return result;
  }

  #submit(member: Prepared): Promise<Outcome> {
    if (this.#closing === undefined) return this.#groups.submit(member);
    return Promise.reject(closed(new Error("The journal is closed")));
  }

  /** What a read gives, unless the journal was closed under it. */
  #whileOpen<T>(read: Promise<T>): Promise<T> {
    return read.catch((error: unknown) => {
      throw this.#closing === undefined ? error : closed(error);
    });
  }

  #commit(group: readonly Prepared[]): Promise<readonly Outcome[]> {
    const { runtime, snapshotAfter = 64 } = this.#options;
    return this.#database.appendGroup(group, {
      now: runtime.now(),
      instance: this.#instance.id,
      slot: this.#instance.slot,
      snapshotAfter,
      folded: (taskId, position): Task | undefined => {
        const folded = this.#cache.get(taskId, position);
        return folded?.at === position ? folded.task : undefined;
      },
      runtime,
    });
  }

  /** After the commit: what this process knows of the task moves on, and whoever waits for it is told. */
  #committed({ head, entries }: Outcome): void {
    if (head === undefined) return;
    const stored = entries.map((entry) => entry.stored);
    this.#cache.add(head.taskId, stored);
    this.#tails.offer(head.taskId, stored, head.holder === this.instance);
    const { holder, dueAt } = head;
    if (holder === undefined && dueAt !== undefined && dueAt <= this.#options.runtime.now())
      this.#tell(this.leases.onDue);
  }

  /** A listener's fault isn't the caller's: what it is told of is committed. */
  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#options.logger.error({ err: error }, "A listener of the journal failed");
    }
  }

  /** Positions of those of these tasks that exist. */
  async #positions(taskIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.kysely
      .selectFrom("task")
      .select(["id", "position"])
      .where("id", "in", ({ selectFrom }) =>
        selectFrom(this.#database.rowsOf(taskIds).as("wanted")).select("wanted.value"),
      )
      .execute();
    return new Map(rows.map(({ id, position }) => [id, position]));
  }
}

function closed(cause: unknown): A2AError {
  return new A2AError("DRAINING", undefined, { cause });
}
