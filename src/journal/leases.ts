import { type Kysely, sql } from "kysely";
import type { Runtime } from "../runtime/runtime.js";
import type { GuardedRequest } from "./append-group.js";
import type { Instance } from "./instance.js";
import type { AppendResult, Head, Lease, Leases } from "./journal.js";
import { type Schema, toHead } from "./schema.js";

/** Where leases are kept, and how one is taken. */
export interface LeaseOptions {
  readonly runtime: Runtime;
  readonly db: Kysely<Schema>;
  readonly instance: Instance;
  /** Appends, without telling `onTaken` of a lease. */
  readonly append: (request: GuardedRequest) => Promise<AppendResult>;
}

/** See `Leases`. A claim is an append like any other, so that the guards decide between instances. */
export function createLeases({ runtime, db, instance, append }: LeaseOptions): Leases {
  return {
    hasRoom: () => false,
    taking: 0,
    onTaken() {},
    onDue() {},
    async claim(limit, agentVersion, agents) {
      runtime.at("claim");
      const due = await selectDue(db, runtime.now(), limit, agents);
      const claims = due.map(async ({ taskId, agent }): Promise<Lease | undefined> => {
        // In between somebody may have been here and gone, and left it due another time.
        const result = await append({ taskId, events: [], overdue: true, take: { agentVersion: agentVersion(agent) } });
        return result.kind === "ok" ? result.lease : undefined;
      });
      return (await Promise.all(claims)).filter((lease) => lease !== undefined);
    },
    async orphans(limit) {
      const dead = await instance.dead(await selectHolders(db));
      return dead.length === 0 ? [] : await selectHeld(db, dead, limit);
    },
  };
}

async function selectDue(
  db: Kysely<Schema>,
  now: number,
  limit: number,
  agents: readonly string[] | undefined,
): Promise<readonly Head[]> {
  let due = db
    .selectFrom("task")
    .selectAll()
    .where("holder", "is", null)
    .where("due_at", "is not", null)
    .where("due_at", "<=", now);
  if (agents !== undefined) due = due.where("agent", "in", agents);
  const rows = await due.orderBy("due_at").limit(limit).execute();
  return rows.map(toHead);
}

/** Jumps from holder to holder along the index: costs as many steps as there are holders, however many tasks they hold. */
async function selectHolders(db: Kysely<Schema>): Promise<readonly string[]> {
  const { rows } = await sql<{ holder: string }>`
    with recursive held (holder) as (
      select min(holder) from task where holder is not null
      union all
      select (select min(task.holder) from task where task.holder > held.holder) from held where held.holder is not null
    )
    select holder from held where holder is not null
  `.execute(db);
  return rows.map(({ holder }) => holder);
}

async function selectHeld(db: Kysely<Schema>, holders: readonly string[], limit: number): Promise<readonly Head[]> {
  const rows = await db.selectFrom("task").selectAll().where("holder", "in", holders).limit(limit).execute();
  return rows.map(toHead);
}
