import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { type Server, serve } from "nuncio";
import { silentLogger } from "../../../src/runtime/logger.js";
import { scripted } from "../../support/scripted-agent.js";

/** The whole server on a SQLite file. */
export interface Composed {
  readonly url: string;
  readonly port: number;
  /** What was logged as an error. */
  readonly errors: object[];
  /** How many rows the file has, as another process would read it. */
  rows(): Record<"task" | "event" | "snapshot" | "seen", number>;
  /** Closes, and opens the same file again, on another port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function startComposed(): Promise<Composed> {
  const folder = await mkdtemp(join(tmpdir(), "nuncio-interop-"));
  const file = join(folder, "journal.db");
  const errors: object[] = [];
  const logger = { ...silentLogger, error: (details: object) => void errors.push(details) };
  const start = () => serve(scripted, { port: 0, journal: `sqlite:${file}`, logger, drainMs: 500, cancelGraceMs: 200 });
  let server: Server = await start();
  return {
    get url() {
      return server.url;
    },
    get port() {
      return Number(new URL(server.url).port);
    },
    errors,
    rows() {
      const database = new Database(file, { readonly: true });
      try {
        const count = (table: string) => Number(database.prepare(`select count(*) from ${table}`).pluck().get());
        return { task: count("task"), event: count("event"), snapshot: count("snapshot"), seen: count("seen") };
      } finally {
        database.close();
      }
    },
    async restart() {
      await server.close();
      server = await start();
    },
    async close() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
