// What really goes over each wire, against test/transcripts/*.txt. Shows what has changed; usage: npm run transcripts [-- --write]
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TRANSCRIPTS } from "../test/transcripts/record.js";

const folder = fileURLToPath(new URL("../test/transcripts/", import.meta.url));
const write = process.argv.includes("--write");
const fresh = mkdtempSync(join(tmpdir(), "transcripts-"));
try {
  for (const [file, record] of Object.entries(TRANSCRIPTS)) {
    const text = await record();
    writeFileSync(join(fresh, file), text);
    const { status, stdout } = spawnSync("git", [
      "diff",
      "--no-index",
      "--no-prefix",
      join(folder, file),
      join(fresh, file),
    ]);
    if (status === 0) continue;
    process.stdout.write(stdout);
    if (write) writeFileSync(join(folder, file), text);
    else process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true });
}
