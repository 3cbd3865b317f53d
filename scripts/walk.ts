// Walks over the operations against a model of the specification, in process and on every wire.
// Usage: npm run walk -- [--steps N] [--seed S] [--wire NAME]     N steps each (default 10000, which takes minutes); S as a failure gave it
import { parseArgs } from "node:util";
import { everyWire, wires } from "../test/generative/every-wire.js";
import { type Ground, walk } from "../test/generative/walk.js";
import { inProcess } from "../test/support/in-process.js";
import { chosenFrom, wholeNumber } from "./options.js";

const { values } = parseArgs({
  options: { steps: { type: "string" }, seed: { type: "string" }, wire: { type: "string" } },
});
const steps = wholeNumber("steps", values.steps, 10_000);
const seed = wholeNumber("seed", values.seed, Date.now() % 1_000_000);
const chosen = chosenFrom("wire", ["in-process", ...wires], values.wire);
const served = await everyWire();
const direct = await inProcess();
const groundOf = (name: (typeof chosen)[number]): Ground =>
  name === "in-process" ? direct : { as: (user) => served.over(name, `${name} ${user}`) };

try {
  for (const name of chosen) {
    const began = performance.now();
    const counts = await walk(groundOf(name), steps, seed).catch((error: unknown) => {
      throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    });
    const taken = Object.entries(counts).map(([step, count]) => `${step} ${count}`);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    process.stdout.write(`${name}: ${steps} steps, seed ${seed}, no difference, ${seconds} s (${taken.join(", ")})\n`);
  }
  if (served.errors.length > 0) throw new Error(`Errors of ours were logged: ${JSON.stringify(served.errors)}`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await served.close();
  await direct.close();
}
