import { writeSync } from "node:fs";
import { openSqlJournal } from "../../src/journal/open.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { systemRuntime } from "../../src/runtime/runtime.js";
import { artifact, beginning, completed, working } from "./journal-events.js";

/**
 * A process that appends to a file and acknowledges on stdout what it was told is kept: a line `task position` each. Kills itself at
 * the n-th time that it passes a fault point, if one is named.
 */
const [file = "", appends = "0", point = "", nth = "0"] = process.argv.slice(2);
let passed = 0;
const runtime = {
  ...systemRuntime,
  at(name: string) {
    if (name === point && ++passed === Number(nth)) process.kill(process.pid, "SIGKILL");
  },
};
const journal = await openSqlJournal({
  target: `sqlite:${file}`,
  runtime,
  logger: silentLogger,
  snapshotAfter: 6,
  leaseMs: 300,
});
let left = Number(appends);

async function work(): Promise<void> {
  while (left > 0) {
    const request = beginning({ take: { agentVersion: "1" } });
    const { taskId } = request;
    await append(request);
    const steps = [
      working("on it"),
      artifact("a", "1"),
      artifact("a", "2", true),
      artifact("a", "3", true),
      completed(),
    ];
    for (const event of steps) if (left > 0) await append({ taskId, epoch: 1, events: [event] });
  }
}

async function append(request: Parameters<typeof journal.append>[0]): Promise<void> {
  left--;
  const result = await journal.append(request);
  if (result.kind !== "ok") throw new Error(`refused: ${result.kind}`);
  writeSync(1, `${request.taskId} ${result.position}\n`);
}

writeSync(1, "ready\n");
await Promise.all(Array.from({ length: 8 }, work));
await journal.close();
writeSync(1, "done\n");
