import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { TRANSCRIPTS } from "./record.js";

test.each(Object.entries(TRANSCRIPTS))(
  "what goes over the wire is what %s shows (npm run transcripts says what has changed)",
  async (file, record) => {
    expect(await record()).toBe(await readFile(new URL(file, import.meta.url), "utf8"));
  },
);
