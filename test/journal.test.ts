import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { journalContract } from "./contract/journal.js";
import { openForTest } from "./support/journal-world.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-journal-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a journal in memory", () => {
  journalContract((options) => openForTest("memory:", options));
});

describe("a journal in a file", () => {
  journalContract((options) => openForTest(`sqlite:${join(folder, `${randomUUID()}.db`)}`, options));
});
