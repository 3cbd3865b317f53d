import { type OpenOptions, openDatabase } from "./dialect.js";
import type { Journal } from "./journal.js";
import { createSqlJournal, type SqlJournalOptions } from "./sql-journal.js";

/** Which journal to open, and how. */
export interface JournalOptions extends SqlJournalOptions, OpenOptions {
  /** `memory:`, gone with the process, or `sqlite:FILE`, a path from the working directory. */
  readonly target: string;
}

/**
 * Opens the journal at a target, and makes it if there is none. Rejects with one line when the target can't be opened, isn't a
 * journal, or was written by a newer release. Close it when done: until then the instance counts as alive.
 */
export async function openSqlJournal(options: JournalOptions): Promise<Journal> {
  const database = await openDatabase(options.target, options);
  try {
    return await createSqlJournal(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}
