import { describe, expect, it } from "vitest";
import { wires } from "./every-wire.js";
import { bombard } from "./hostile.js";

/** Few enough for every day; `npm run fuzz` goes on for as long as it is told to, and judges the heap as well. */
const REQUESTS = 2_000;
const SEED = 1;

describe("hostile requests", () => {
  it.each(wires)(
    "over %s are answered or refused: none crashes, hangs, leaves a socket open or is an error of ours",
    async (wire) => {
      const { sent, statuses, faults } = await bombard(wire, REQUESTS, SEED);
      expect(faults).toEqual([]);
      expect(sent).toBe(REQUESTS);
      // What is mutated so much that nothing of it is ever accepted says little.
      expect(statuses.get(wire === "grpc" || wire === "grpc-web" ? "gRPC 0" : "HTTP 200")).toBeGreaterThan(
        REQUESTS / 50,
      );
    },
    60_000,
  );
});
