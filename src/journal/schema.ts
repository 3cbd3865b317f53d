import type { Generated, Selectable } from "kysely";
import type { Duplicate, Head } from "./journal.js";

/** The tables; `migrations.ts` makes them. Times are milliseconds since the epoch, states the numbers of the contract. */
export interface Schema {
  /** A task's head: small, all that an append updates. */
  task: {
    id: string;
    tenant: string;
    owner: string;
    principal: string;
    agent: string;
    skill: string | null;
    context: string;
    state: number;
    status_at: number;
    created_at: number;
    position: number;
    last_message: number;
    epoch: number;
    holder: string | null;
    due_at: number | null;
    turn: number;
    attempt: number;
    /** Where a snapshot was last taken; 0 for never. */
    snapshot: number;
  };
  /** The log. `n` is only where a row lies: it may have gaps and is never a cursor. */
  event: { n: Generated<number>; task: string; position: number; kind: number; at: number; body: Uint8Array };
  /** The encoded Task at a position; several a task, so that a reader may resume at an old one. */
  snapshot: { task: string; position: number; body: Uint8Array };
  /** Keys that were used, and what for: a task's message, or a direct reply. */
  seen: {
    n: Generated<number>;
    key: Uint8Array;
    task: string | null;
    position: number;
    reply: Uint8Array | null;
    at: number;
  };
  /** How many tasks of an owner are in a state: the sum over all slots. */
  tally: { tenant: string; owner: string; state: number; slot: number; n: number };
  /** Who has the journal open. */
  instance: { id: string; slot: number; host: string; pid: number; expires_at: number };
  migration: { number: number; at: number };
}

/** A task's row, as it is read. */
export type TaskRow = Selectable<Schema["task"]>;
/** A key's row, as it is read. */
export type SeenRow = Selectable<Schema["seen"]>;

/** A head with what only the journal needs of its row. */
export interface StoredHead extends Head {
  readonly snapshot: number;
}

/** The head in a row. */
export function toHead(row: TaskRow): StoredHead {
  return {
    taskId: row.id,
    tenant: row.tenant,
    owner: row.owner,
    principal: row.principal,
    agent: row.agent,
    skill: row.skill ?? undefined,
    contextId: row.context,
    state: row.state,
    statusAt: row.status_at,
    createdAt: row.created_at,
    position: row.position,
    lastMessage: row.last_message,
    epoch: row.epoch,
    holder: row.holder ?? undefined,
    dueAt: row.due_at ?? undefined,
    turn: row.turn,
    attempt: row.attempt,
    snapshot: row.snapshot,
  };
}

/** What a key was used for. */
export function toDuplicate({ task, position, reply }: SeenRow): Duplicate {
  return { kind: "duplicate", taskId: task ?? undefined, position, reply: reply ?? undefined };
}
