import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TaskEventSchema } from "../gen/nuncio/journal/v1/journal_pb.js";
import { Entry } from "../src/journal/event.js";
import { Tails } from "../src/journal/tails.js";
import { working } from "./support/journal-events.js";
import { recordingLogger, testRuntime } from "./support/journal-world.js";

const BODY = toBinary(TaskEventSchema, create(TaskEventSchema, working()));

/** A log whose reads take as long as the test wants, and that others write to as well. */
function slowLog({ ringSize = 4, pageSize = 3, pollMs = 60_000 } = {}) {
  const runtime = testRuntime();
  const entries: Entry[] = [];
  const reads: (() => void)[] = [];
  let held = false;
  let count = 0;
  let polls = 0;
  const tails = new Tails({
    ...{ runtime, logger: recordingLogger(), pollMs, ringSize, pageSize },
    read: async (_taskId, after, limit) => {
      count++;
      const page = entries.slice(after, after + limit);
      if (held) await new Promise<void>((resolve) => reads.push(resolve));
      return page;
    },
    positions: async (taskIds) => {
      polls++;
      if (held) await new Promise<void>((resolve) => reads.push(resolve));
      return new Map(taskIds.map((taskId) => [taskId, entries.length]));
    },
  });
  return {
    ...{ tails, runtime, entries },
    readCount: () => count,
    pollCount: () => polls,
    /** From now on, reads answer what they found when `letGo` is called. */
    hold: () => {
      held = true;
    },
    letGo: () => {
      held = false;
      for (const answer of reads.splice(0)) answer();
    },
    /** Commits entries; `here`, or in another process. */
    append: (n: number, here = true) => {
      const added = Array.from({ length: n }, (_, index) => new Entry("t", entries.length + index + 1, 0, BODY));
      entries.push(...added);
      if (here) tails.offer("t", added);
    },
    follow: (after: number) => {
      const given = new AbortController();
      const seen: number[] = [];
      const done = (async () => {
        for await (const { position } of tails.follow("t", after, given.signal)) seen.push(position);
      })();
      const end = () => {
        given.abort();
        return done;
      };
      return { seen, after, end };
    },
  };
}

const turns = async (n = 20) => {
  for (let turn = 0; turn < n; turn++) await new Promise(setImmediate);
};
const upTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1);

describe("a tail", () => {
  test("what is committed while the first read is under way isn't waited for again", async () => {
    const log = slowLog();
    log.hold();
    const follower = log.follow(0);
    await turns();
    log.append(1);
    log.letGo();
    await turns();
    expect(follower.seen).toEqual([1]);
    await follower.end();
  });

  test("who comes while the last poll is under way is polled for once", async () => {
    const log = slowLog({ pollMs: 30 });
    const first = log.follow(0);
    await turns();
    log.hold();
    for (const before = log.pollCount(); log.pollCount() === before; ) await turns(1);
    await first.end();
    const second = log.follow(0);
    log.letGo();
    await turns(2);
    expect(log.runtime.timers.size).toBe(1);
    await second.end();
    expect(log.runtime.timers.size).toBe(0);
  });

  test("an abort while a read is under way ends it", async () => {
    const log = slowLog();
    log.hold();
    const follower = log.follow(0);
    await turns();
    const ended = follower.end();
    log.letGo();
    await ended;
    expect(log.tails.size).toBe(0);
  });

  test("a new follower reads what another process wrote, though the tail hasn't heard of it", async () => {
    const log = slowLog();
    log.append(2);
    const first = log.follow(0);
    await turns();
    log.append(2, false);
    const second = log.follow(2);
    await turns();
    // The first learns of it by the second's read.
    for (const { seen } of [first, second]) expect(seen.at(-1)).toBe(4);
    await Promise.all([first.end(), second.end()]);
  });

  test("a follower reads page after page to the end, though the tail ends before", async () => {
    const log = slowLog();
    log.append(1);
    const first = log.follow(0);
    await turns();
    log.append(7, false);
    const second = log.follow(1);
    await turns();
    expect(second.seen).toEqual([2, 3, 4, 5, 6, 7, 8]);
    await Promise.all([first.end(), second.end()]);
  });

  test("a gap is read once for all, and what comes while it is read isn't lost", async () => {
    const log = slowLog();
    log.append(1);
    const followers = Array.from({ length: 10 }, () => log.follow(0));
    await turns();
    const before = log.readCount();
    log.hold();
    log.append(1, false);
    log.append(1);
    await turns();
    log.append(1);
    log.append(1);
    log.letGo();
    await turns();
    for (const { seen } of followers) expect(seen).toEqual(upTo(5));
    expect(log.readCount() - before).toBe(2);
    await Promise.all(followers.map(({ end }) => end()));
  });

  test("a gap longer than the ring is paged by each follower", async () => {
    const log = slowLog();
    log.append(1);
    const followers = [log.follow(0), log.follow(0)];
    await turns();
    log.append(20, false);
    log.append(1);
    await turns();
    for (const { seen } of followers) expect(seen).toEqual(upTo(22));
    await Promise.all(followers.map(({ end }) => end()));
  });

  test("the ring is bounded: whoever comes later reads what has left it", async () => {
    const log = slowLog();
    log.append(1);
    const first = log.follow(0);
    await turns();
    for (let n = 0; n < 20; n++) log.append(1);
    await turns();
    expect(first.seen).toEqual(upTo(21));
    const before = log.readCount();
    const inRing = log.follow(17);
    await turns();
    // One to be sure that nothing came after.
    expect(log.readCount() - before).toBe(1);
    const behind = log.follow(16);
    await turns();
    expect(log.readCount() - before).toBeGreaterThan(2);
    expect([inRing.seen, behind.seen]).toEqual([
      [18, 19, 20, 21],
      [17, 18, 19, 20, 21],
    ]);
    await Promise.all([first.end(), inRing.end(), behind.end()]);
  });

  test("a read that fails reaches who asked, and the tail goes on", async () => {
    const log = slowLog({ pollMs: 5 });
    log.append(1);
    const first = log.follow(0);
    await turns();
    log.runtime.faults.set("follow.read", () => {
      throw new Error("no connection");
    });
    await expect(log.tails.follow("t", 0).next()).resolves.toMatchObject({ value: { position: 1 } });
    await expect(log.tails.follow("t", 1).next()).rejects.toThrow("no connection");
    log.append(1, false);
    log.append(1);
    await turns();
    log.runtime.faults.clear();
    while (first.seen.length < 3) await turns();
    expect(first.seen).toEqual(upTo(3));
    await first.end();
  });

  test("however slow reads are and whoever writes, each follower sees the log", async () => {
    const step = fc.oneof(
      fc.constantFrom("hold" as const, "let go" as const, "rest" as const),
      fc.record({ append: fc.integer({ min: 1, max: 7 }), here: fc.boolean() }),
      fc.record({ follow: fc.nat(12) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const log = slowLog({ pollMs: 1 });
        const followers = [log.follow(0)];
        for (const action of steps) {
          if (action === "hold") log.hold();
          else if (action === "let go") log.letGo();
          else if (action === "rest") await turns(2);
          else if ("append" in action) log.append(action.append, action.here);
          else followers.push(log.follow(action.follow));
        }
        log.letGo();
        const last = log.entries.length;
        const behind = () => followers.some(({ after, seen }) => seen.length < Math.max(0, last - after));
        for (const giveUpAt = Date.now() + 3_000; behind() && Date.now() < giveUpAt; ) await turns(1);
        for (const { after, seen } of followers) expect(seen).toEqual(upTo(last).slice(after));
        await Promise.all(followers.map(({ end }) => end()));
        expect(log.tails.size).toBe(0);
        expect(log.runtime.timers.size).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
