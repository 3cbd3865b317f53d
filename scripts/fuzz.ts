// Sends hostile requests over each wire, and says what became of them.
// Usage: npm run fuzz -- [--count N] [--seed S] [--wire NAME]     N requests over each wire (default 5000); S as a fault gave it
import { parseArgs } from "node:util";
import { wires } from "../test/generative/every-wire.js";
import { bombard } from "../test/generative/hostile.js";

const { values } = parseArgs({
  options: { count: { type: "string" }, seed: { type: "string" }, wire: { type: "string" } },
});
const count = Number(values.count ?? 5_000);
const seed = Number(values.seed ?? Date.now() % 1_000_000);

for (const wire of wires) {
  if (values.wire !== undefined && values.wire !== wire) continue;
  const began = performance.now();
  const { sent, statuses, faults } = await bombard(wire, count, seed);
  const seconds = (performance.now() - began) / 1_000;
  const histogram = [...statuses]
    .sort(([, one], [, other]) => other - one)
    .map(([status, times]) => `${status}: ${times}`);
  process.stdout.write(
    `${wire}: ${sent} requests, seed ${seed}, ${faults.length} faults, ${seconds.toFixed(1)} s, heap ${heapMb()} MB\n  ${histogram.join(", ")}\n`,
  );
  for (const fault of faults) process.stdout.write(`  ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

/** After a collection, where node was started with --expose-gc. */
function heapMb(): number {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().heapUsed / 1e6);
}
