import type { OpenJournal } from "../support/journal-world.js";
import { appendContract } from "./journal-append.js";
import { followContract } from "./journal-follow.js";
import { leaseContract } from "./journal-leases.js";
import { readContract } from "./journal-read.js";

/** What any Journal must do, whatever it is kept in. Each call of `open` gives a new, empty one. */
export function journalContract(open: OpenJournal): void {
  appendContract(open);
  readContract(open);
  followContract(open);
  leaseContract(open);
}
