// Sends hostile requests over each wire, and says what became of them: whether one crashed the server, hung, left a socket open or was an
// error of ours, and whether the heap grew from the middle of the run to its end (from 4 000 requests on; node needs --expose-gc).
// Usage: npm run fuzz -- [--count N] [--seed S] [--wire NAME]     N requests over each wire (default 5000); S as a fault gave it
import { parseArgs } from "node:util";
import { wires } from "../test/generative/every-wire.js";
import { bombard, heapGrowth } from "../test/generative/hostile.js";
import { chosenFrom, wholeNumber } from "./options.js";

const { values } = parseArgs({
  options: { count: { type: "string" }, seed: { type: "string" }, wire: { type: "string" } },
});
const count = wholeNumber("count", values.count, 5_000);
const seed = wholeNumber("seed", values.seed, Date.now() % 1_000_000);

for (const wire of chosenFrom("wire", wires, values.wire)) {
  const began = performance.now();
  const report = await bombard(wire, count, seed);
  const { sent, statuses, faults } = report;
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const histogram = [...statuses]
    .sort(([, one], [, other]) => other - one)
    .map(([status, times]) => `${status}: ${times}`);
  process.stdout.write(
    `${wire}: ${sent} requests, seed ${seed}, ${faults.length} faults, ${seconds} s, ${heapOf(report)}\n  ${histogram.join(", ")}\n`,
  );
  for (const fault of faults) process.stdout.write(`  ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

function heapOf(report: Parameters<typeof heapGrowth>[0]): string {
  const grown = heapGrowth(report);
  if (grown === undefined) return "heap not judged";
  return `heap ${mb(report.heap.at(-1) ?? 0)} MB, ${mb(grown)} MB more than in the middle`;
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
