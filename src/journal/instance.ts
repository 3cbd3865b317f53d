import { hostname } from "node:os";
import { sql } from "kysely";
import type { Logger } from "../runtime/logger.js";
import type { Runtime, Timer } from "../runtime/runtime.js";
import { KEY_WINDOW_MS } from "./append-group.js";
import type { JournalDatabase } from "./dialect.js";
import type { WhenFree } from "./when-free.js";

/** Where an instance is registered, and for how long. */
export interface InstanceOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly database: JournalDatabase;
  readonly whenFree: WhenFree;
  /** How long after its last heartbeat an instance counts as alive, in milliseconds. */
  readonly leaseMs: number;
}

/** Those that are open in this process. A process that was restarted may have the old one's number: its row alone can't tell. */
const openHere = new Set<string>();

const HEARTBEATS_PER_LEASE = 3;
/** Rows of dead instances go after so many leases; a missing one is dead just as well. */
const LEASES_KEPT = 100;
const KEYS_SWEPT_AT_ONCE = 2_000;

/** This opening of the journal among the others: a row of its own, kept alive by a heartbeat. */
export class Instance {
  readonly id: string;
  readonly #options: InstanceOptions;
  #slot = 0;
  #next: Timer | undefined;
  #beating: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: InstanceOptions) {
    this.#options = options;
    this.id = options.runtime.id();
  }

  /** In which of the counters it counts. */
  get slot(): number {
    return this.#slot;
  }

  async open(): Promise<void> {
    await this.#register();
    openHere.add(this.id);
    this.#arm();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#next?.cancel();
    await this.#beating;
    openHere.delete(this.id);
    const { database, whenFree, logger } = this.#options;
    try {
      await whenFree(() => database.kysely.deleteFrom("instance").where("id", "=", this.id).execute());
    } catch (error) {
      logger.warn({ err: error }, "The journal couldn't be told that it is closed; its row expires by itself");
    }
  }

  /** Which of these instances are dead: without a row, with an expired one, or on this machine with a process that is gone. */
  async dead(ids: readonly string[]): Promise<readonly string[]> {
    const { database, runtime } = this.#options;
    const rows = await database.kysely.selectFrom("instance").selectAll().execute();
    const known = new Map(rows.map((row) => [row.id, row]));
    return ids.filter((id) => {
      if (id === this.id) return false;
      const row = known.get(id);
      if (row === undefined || row.expires_at <= runtime.now()) return true;
      return row.host === hostname() && !(row.pid === process.pid ? openHere.has(id) : isRunning(row.pid));
    });
  }

  /** Inserts its row, or prolongs it; in the lowest slot that is free, so that there are never more counters than instances. */
  async #register(): Promise<void> {
    const { database, whenFree, runtime, leaseMs } = this.#options;
    const { rows } = await whenFree(() =>
      sql<{ slot: number }>`
        insert into instance (id, slot, host, pid, expires_at)
        select ${this.id}, min(free.slot), ${hostname()}, ${process.pid}, ${runtime.now() + leaseMs}
        from (select 0 as slot union all select slot + 1 from instance) as free
        where free.slot not in (select slot from instance)
        on conflict (id) do update set expires_at = excluded.expires_at
        returning slot
      `.execute(database.kysely),
    );
    this.#slot = rows[0]?.slot ?? 0;
  }

  #arm(): void {
    const { runtime, leaseMs } = this.#options;
    if (this.#closed) return;
    this.#next = runtime.after(leaseMs / HEARTBEATS_PER_LEASE, () => {
      this.#beating = this.#beat().then(() => this.#arm());
    });
  }

  async #beat(): Promise<void> {
    try {
      this.#options.runtime.at("heartbeat");
      await this.#register();
      await this.#sweep();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "A heartbeat failed; the next one tries again");
    }
  }

  /** Forgets dead instances, and keys whose window is over. */
  async #sweep(): Promise<void> {
    const { database, whenFree, runtime, leaseMs } = this.#options;
    const { kysely: db } = database;
    const now = runtime.now();
    await whenFree(() =>
      db
        .deleteFrom("instance")
        .where("expires_at", "<", now - leaseMs * LEASES_KEPT)
        .execute(),
    );
    // In the order in which they came: however many there are, a sweep looks at a few.
    const oldest = db.selectFrom("seen").select(["n", "at"]).orderBy("n").limit(KEYS_SWEPT_AT_ONCE);
    const expired = db
      .selectFrom(oldest.as("oldest"))
      .select("n")
      .where("at", "<=", now - KEY_WINDOW_MS);
    await whenFree(() => db.deleteFrom("seen").where("n", "in", expired).execute());
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process may not be signalled, but it is there.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
