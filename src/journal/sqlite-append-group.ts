import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Database } from "better-sqlite3";
import { type Task, TaskSchema } from "../a2a/types.js";
import {
  advance,
  type GroupOptions,
  KEY_WINDOW_MS,
  type Outcome,
  type Prepared,
  type PreparedAppend,
  type PreparedReply,
  refuse,
  wantsSnapshot,
} from "./append-group.js";
import type { Disk } from "./disk.js";
import { Entry } from "./event.js";
import { HeldHeads } from "./held-heads.js";
import type { AppendResult } from "./journal.js";
import { fold } from "./projection.js";
import { type SeenRow, type StoredHead, type TaskRow, toDuplicate, toHead } from "./schema.js";

/** Larger tasks are folded from the log: such a row would hold up everybody, and SQLite has a limit. */
const MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024;

/**
 * `appendGroup` for SQLite, in prepared statements and one synchronous transaction: it starts as a writer, so what it reads is
 * current and guards are plain code. Then it waits for the disk.
 */
export function sqliteAppendGroup(database: Database, disk: Disk | undefined) {
  const statements = prepareStatements(database);
  const heads = new HeldHeads();
  return async (group: readonly Prepared[], options: GroupOptions): Promise<readonly Outcome[]> => {
    disk?.assertSound();
    const outcomes = commit({ database, statements, heads }, group, options);
    disk?.committed();
    await disk?.settled();
    return outcomes;
  };
}

interface Connection {
  readonly database: Database;
  readonly statements: Statements;
  readonly heads: HeldHeads;
}

function commit(
  { database, statements, heads }: Connection,
  group: readonly Prepared[],
  options: GroupOptions,
): readonly Outcome[] {
  const transaction = new GroupTransaction(statements, heads, options);
  statements.begin.run();
  try {
    heads.compare(statements.version.get());
    const outcomes = group.map((member) =>
      member.kind === "append" ? transaction.append(member) : transaction.remember(member),
    );
    transaction.writeTallies();
    options.runtime.at("append.before-commit");
    statements.commit.run();
    for (const { head } of outcomes) if (head !== undefined) heads.keep(head, options.instance);
    return outcomes;
  } catch (error) {
    heads.forget();
    // A full disk may have rolled it back already.
    if (database.inTransaction) statements.rollback.run();
    throw error;
  }
}

class GroupTransaction {
  readonly #sql: Statements;
  readonly #heads: HeldHeads;
  readonly #options: GroupOptions;
  /** A group of many tasks of one owner changes each counter once. */
  readonly #tallies = new Map<string, { readonly head: StoredHead; change: number }>();

  constructor(statements: Statements, heads: HeldHeads, options: GroupOptions) {
    this.#sql = statements;
    this.#heads = heads;
    this.#options = options;
  }

  append(prepared: PreparedAppend): Outcome {
    const { request, events } = prepared;
    const { now, instance } = this.#options;
    const used = request.key && this.#used(request.key);
    if (used) return { result: used, entries: [] };
    // Of a task that begins, inserting the head says whether there is one.
    const before = request.create === undefined ? this.#head(request.taskId) : undefined;
    const refused = refuse(request, before, now, instance);
    if (refused) return { result: refused, entries: [] };

    const outcome = advance(prepared, before, now, instance);
    const isWhole = wantsSnapshot(outcome.head, this.#options.snapshotAfter);
    const head = isWhole ? { ...outcome.head, snapshot: outcome.head.position } : outcome.head;
    if (!this.#writeHead(before, head)) return { result: { kind: "exists" }, entries: [] };
    if (isWhole) this.#writeSnapshot(head, before, outcome.entries);
    for (const { kind, body, stored } of outcome.entries) {
      this.#sql.insertEvent.run(stored.taskId, stored.position, kind, stored.at, body);
    }
    if (request.key !== undefined) {
      const message = Math.max(
        0,
        events.findIndex((event) => event.case === "messageReceived"),
      );
      this.#sql.use.run(request.key, request.taskId, (before?.position ?? 0) + message + 1, null, now);
    }
    this.#count(before, head);
    return { ...outcome, head };
  }

  #head(taskId: string): StoredHead | undefined {
    const held = this.#heads.get(taskId);
    if (held !== undefined) return held;
    const row = this.#sql.head.get(taskId);
    return row && toHead(row);
  }

  remember({ key, reply }: PreparedReply): Outcome {
    const used = this.#used(key);
    if (used === undefined) this.#sql.use.run(key, null, 0, reply, this.#options.now);
    return { result: used, entries: [] };
  }

  writeTallies(): void {
    for (const { head, change } of this.#tallies.values()) {
      if (change !== 0) this.#sql.count.run(head.tenant, head.owner, head.state, this.#options.slot, change);
    }
  }

  #used(key: Uint8Array): AppendResult | undefined {
    const row = this.#sql.used.get(key, this.#options.now - KEY_WINDOW_MS);
    return row && toDuplicate(row);
  }

  #count(before: StoredHead | undefined, head: StoredHead): void {
    if (before?.state === head.state) return;
    if (before !== undefined) this.#change(before, -1);
    this.#change(head, 1);
  }

  #change(head: StoredHead, by: number): void {
    const { tenant, owner, state } = head;
    const name = `${state} ${tenant.length} ${tenant}${owner}`;
    const tally = this.#tallies.get(name);
    if (tally === undefined) this.#tallies.set(name, { head, change: by });
    else tally.change += by;
  }

  /** The narrow form leaves every index alone: a chunk touches none. @returns whether there was no task where none should be. */
  #writeHead(before: StoredHead | undefined, head: StoredHead): boolean {
    const { taskId, state, statusAt, position, lastMessage, epoch, holder = null, dueAt = null, turn, attempt } = head;
    const moved = [position, lastMessage, head.snapshot];
    const placed = [state, statusAt, epoch, holder, dueAt, turn, attempt];
    if (before === undefined) {
      const { tenant, owner, principal, agent, skill = null, contextId, createdAt } = head;
      const { changes } = this.#sql.insertHead.run(
        taskId,
        tenant,
        owner,
        principal,
        agent,
        skill,
        contextId,
        createdAt,
        ...moved,
        ...placed,
      );
      return changes > 0;
    }
    if (
      before.statusAt === statusAt &&
      before.state === state &&
      before.epoch === epoch &&
      before.holder === head.holder &&
      before.dueAt === head.dueAt
    ) {
      this.#sql.moveHead.run(...moved, taskId);
    } else {
      this.#sql.updateHead.run(...moved, ...placed, taskId);
    }
    return true;
  }

  /** Stores the whole task as it is at its head. */
  #writeSnapshot(head: StoredHead, before: StoredHead | undefined, added: Outcome["entries"]): void {
    const entries = added.map(({ stored }) => stored);
    const task = fold(before && this.#folded(before), entries);
    const body = toBinary(TaskSchema, task);
    this.#options.runtime.at("snapshot");
    if (body.byteLength <= MAX_SNAPSHOT_BYTES) this.#sql.insertSnapshot.run(head.taskId, head.position, body);
  }

  #folded({ taskId, position }: StoredHead): Task {
    const known = this.#options.folded(taskId, position);
    if (known !== undefined) return known;
    const base = this.#sql.snapshot.get(taskId, position);
    const rows = this.#sql.events.all(taskId, base?.position ?? 0, position);
    const entries = rows.map((row) => new Entry(taskId, row.position, row.at, row.body));
    return fold(base && fromBinary(TaskSchema, base.body), entries);
  }
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: Database) {
  const moved = "position, last_message, snapshot";
  const placed = "state, status_at, epoch, holder, due_at, turn, attempt";
  const set = (columns: string) => columns.replace(/\w+/g, "$& = ?");
  return {
    begin: database.prepare<[]>("begin immediate"),
    commit: database.prepare<[]>("commit"),
    rollback: database.prepare<[]>("rollback"),
    version: database.prepare<[], number>("pragma data_version").pluck(),
    head: database.prepare<[string], TaskRow>("select * from task where id = ?"),
    insertHead: database.prepare<unknown[]>(
      `insert into task (id, tenant, owner, principal, agent, skill, context, created_at, ${moved}, ${placed})
       values (${Array(18).fill("?").join(", ")}) on conflict (id) do nothing`,
    ),
    moveHead: database.prepare<unknown[]>(`update task set ${set(moved)} where id = ?`),
    updateHead: database.prepare<unknown[]>(`update task set ${set(moved)}, ${set(placed)} where id = ?`),
    insertEvent: database.prepare<[string, number, number, number, Uint8Array]>(
      "insert into event (task, position, kind, at, body) values (?, ?, ?, ?, ?)",
    ),
    events: database.prepare<[string, number, number], { position: number; at: number; body: Uint8Array }>(
      "select position, at, body from event where task = ? and position > ? and position <= ? order by position",
    ),
    snapshot: database.prepare<[string, number], { position: number; body: Uint8Array }>(
      "select position, body from snapshot where task = ? and position <= ? order by position desc limit 1",
    ),
    insertSnapshot: database.prepare<[string, number, Uint8Array]>(
      "insert into snapshot (task, position, body) values (?, ?, ?)",
    ),
    used: database.prepare<[Uint8Array, number], SeenRow>("select * from seen where key = ? and at > ?"),
    // Only an expired row can be in the way. It goes: the new one is the youngest.
    use: database.prepare<[Uint8Array, string | null, number, Uint8Array | null, number]>(
      "insert or replace into seen (key, task, position, reply, at) values (?, ?, ?, ?, ?)",
    ),
    count: database.prepare<[string, string, number, number, number]>(
      `insert into tally (tenant, owner, state, slot, n) values (?, ?, ?, ?, ?)
       on conflict (tenant, owner, state, slot) do update set n = n + excluded.n`,
    ),
  };
}
