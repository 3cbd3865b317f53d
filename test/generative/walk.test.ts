import { afterAll, describe, expect, it } from "vitest";
import { inProcess } from "../support/in-process.js";
import { everyWire, wires } from "./every-wire.js";
import { type Ground, steps, walk } from "./walk.js";

/** Few enough for every day; `npm run walk` goes on for as long as it is told to. */
const STEPS = 240;
const SEED = 1;

describe("a walk over the operations finds what the specification says", () => {
  const served = everyWire();
  afterAll(async () => (await served).close());

  it("in process", async () => {
    const subject = await inProcess();
    try {
      await expectEverySort(subject, SEED);
    } finally {
      await subject.close();
    }
  }, 60_000);

  it.each(wires.map((wire, index) => [wire, index + 1] as const))(
    "over %s",
    async (wire, number) => {
      const { over, errors } = await served;
      await expectEverySort({ as: (user) => over(wire, user) }, SEED + number * 1_000);
      expect(errors).toEqual([]);
    },
    60_000,
  );
});

/** Every sort of step is taken, or the walk says nothing about some of them. */
async function expectEverySort(ground: Ground, seed: number): Promise<void> {
  const counts = await walk(ground, STEPS, seed);
  expect(Object.keys(counts)).toHaveLength(steps.length);
}
