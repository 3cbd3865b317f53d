import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Journal, StoredEvent } from "../../src/journal/journal.js";
import { ada, artifact, beginning, begun, completed, expectOk } from "../support/journal-events.js";
import { type OpenJournal, testRuntime } from "../support/journal-world.js";

const tiny = { ringSize: 4, pageSize: 3, groupSize: 2, pollMs: 10 };

/** Follows until entry `last` has come. */
async function followTo(journal: Journal, taskId: string, after: number, last: number): Promise<StoredEvent[]> {
  const seen: StoredEvent[] = [];
  if (after >= last) return seen;
  for await (const entry of journal.follow(taskId, after)) {
    seen.push(entry);
    if (entry.position >= last) break;
  }
  return seen;
}

const positions = (entries: readonly StoredEvent[]) => entries.map(({ position }) => position);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

async function chunks(journal: Journal, taskId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) expectOk(await journal.append({ taskId, events: [artifact("a", `${n}`, true)] }));
}

export function followContract(open: OpenJournal): void {
  describe("follow", () => {
    test("what was there comes first, then what is committed, each once and in order", async () => {
      const journal = await open();
      const taskId = await begun(journal);
      await chunks(journal, taskId, 5);
      const followed = followTo(journal, taskId, 0, 16);
      await chunks(journal, taskId, 10);
      expect(positions(await followed)).toEqual(range(1, 16));
      expect(await followed).toMatchObject((await journal.read(taskId, 0)).map(({ at }) => ({ taskId, at })));
    });

    test("a follower may resume after any position", async () => {
      const journal = await open(tiny);
      const taskId = await begun(journal);
      await chunks(journal, taskId, 14);
      for (const after of range(0, 15)) {
        expect(positions(await followTo(journal, taskId, after, 15))).toEqual(range(after + 1, 15));
      }
    });

    test.each(["follow.armed", "follow.read"] as const)("what is committed at %s is seen once", async (point) => {
      const runtime = testRuntime();
      const journal = await open({ runtime, pollMs: 60_000 });
      const taskId = await begun(journal);
      let appended: Promise<void> | undefined;
      runtime.faults.set(point, () => {
        appended ??= chunks(journal, taskId, 3);
      });
      expect(positions(await followTo(journal, taskId, 0, 4))).toEqual(range(1, 4));
      await appended;
    });

    test("a task may be followed before it exists", async () => {
      const journal = await open({ pollMs: 60_000 });
      const request = beginning();
      const followed = followTo(journal, request.taskId, 0, 1);
      await new Promise(setImmediate);
      await journal.append(request);
      expect(await followed).toHaveLength(1);
    });

    test("wake-ups that are lost cost latency, never an entry", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime, ...tiny });
      const taskId = await begun(journal);
      let wakeUps = 0;
      runtime.faults.set("wake", () => {
        wakeUps++;
        throw new Error("lost");
      });
      const followed = followTo(journal, taskId, 1, 13);
      await chunks(journal, taskId, 12);
      expect(positions(await followed)).toEqual(range(2, 13));
      expect(wakeUps).toBe(12);
    });

    test("one wake-up lost in a while is made up for by the next, without a poll", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime, pollMs: 60_000 });
      const taskId = await begun(journal);
      const followed = followTo(journal, taskId, 0, 9);
      await chunks(journal, taskId, 4);
      runtime.faults.set("wake", () => {
        throw new Error("lost");
      });
      await chunks(journal, taskId, 2);
      runtime.faults.clear();
      await chunks(journal, taskId, 2);
      expect(positions(await followed)).toEqual(range(1, 9));
    });

    test("a slow follower falls behind the ring, and misses nothing", async () => {
      const journal = await open(tiny);
      const taskId = await begun(journal);
      const follower = journal.follow(taskId, 0)[Symbol.asyncIterator]();
      const first = await follower.next();
      await chunks(journal, taskId, 30);
      const seen: StoredEvent[] = [first.value];
      while (seen.length < 31) seen.push((await follower.next()).value);
      expect(positions(seen)).toEqual(range(1, 31));
      await follower.return?.();
    });

    test("a hundred followers read no more than one", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime, pollMs: 60_000 });
      const taskId = await begun(journal);
      const followed = Array.from({ length: 100 }, () => followTo(journal, taskId, 1, 21));
      await new Promise(setImmediate);
      let reads = 0;
      runtime.faults.set("follow.read", () => {
        reads++;
      });
      await chunks(journal, taskId, 20);
      for (const entries of await Promise.all(followed)) expect(positions(entries)).toEqual(range(2, 21));
      expect(reads).toBe(0);
    });

    test("a position that was never reached hides nothing from others", async () => {
      const journal = await open({ pollMs: 60_000 });
      const taskId = await begun(journal);
      const ahead = new AbortController();
      const waiting = journal.follow(taskId, 1_000_000, ahead.signal)[Symbol.asyncIterator]().next();
      const followed = followTo(journal, taskId, 0, 4);
      await chunks(journal, taskId, 3);
      expect(positions(await followed)).toEqual(range(1, 4));
      ahead.abort();
      expect(await waiting).toEqual({ done: true, value: undefined });
    });

    test("a terminal entry doesn't end it; an abort does, without an error, even while it is parked", async () => {
      const journal = await open();
      const taskId = await begun(journal);
      const given = new AbortController();
      const follower = journal.follow(taskId, 1, given.signal)[Symbol.asyncIterator]();
      await journal.append({ taskId, events: [completed()] });
      expect(await follower.next()).toMatchObject({ value: { position: 2 } });
      const parked = follower.next();
      await new Promise(setImmediate);
      given.abort();
      expect(await parked).toEqual({ done: true, value: undefined });
      expect(await journal.follow(taskId, 0, given.signal)[Symbol.asyncIterator]().next()).toMatchObject({
        done: true,
      });
    });

    test("a consumer may go while it is parked", async () => {
      const journal = await open({ pollMs: 60_000 });
      const taskId = await begun(journal);
      const follower = journal.follow(taskId, 1)[Symbol.asyncIterator]();
      const parked = follower.next();
      await new Promise(setImmediate);
      await follower.return?.();
      expect(await parked).toEqual({ done: true, value: undefined });
    });

    test("closing the journal ends every follower and every timer", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      const taskId = await begun(journal);
      const parked = [1, 0].map((after) => followTo(journal, taskId, after, 9));
      await new Promise(setImmediate);
      await journal.close();
      expect((await Promise.all(parked)).map(({ length }) => length)).toEqual([0, 1]);
      expect(runtime.timers.size).toBe(0);
    });

    test("the last follower takes the poll along", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      const before = runtime.timers.size;
      const taskId = await begun(journal);
      const given = new AbortController();
      const parked = [1, 2, 3].map(() => journal.follow(taskId, 1, given.signal)[Symbol.asyncIterator]().next());
      await new Promise(setImmediate);
      expect(runtime.timers.size).toBe(before + 1);
      given.abort();
      await Promise.all(parked);
      expect(runtime.timers.size).toBe(before);
    });

    test("whatever is lost, and whoever is slow, each follower sees the log", async () => {
      const step = fc.constantFrom("append", "append two", "lose", "hear", "follow", "rest");
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.nat(9), async (steps, start) => {
          const runtime = testRuntime();
          const journal = await open({ runtime, ...tiny, pollMs: 1 });
          const taskId = await begun(journal);
          const given = new AbortController();
          const followers: { after: number; seen: number[]; done: Promise<void> }[] = [];
          const follow = (after: number) => {
            const seen: number[] = [];
            const done = (async () => {
              for await (const { position } of journal.follow(taskId, after, given.signal)) {
                seen.push(position);
                if (position % 3 === after % 3) await new Promise(setImmediate);
              }
            })();
            followers.push({ after, seen, done });
          };
          follow(start);
          for (const action of steps) {
            if (action === "append") await chunks(journal, taskId, 1);
            if (action === "append two") await Promise.all([chunks(journal, taskId, 1), chunks(journal, taskId, 1)]);
            if (action === "hear") runtime.faults.clear();
            if (action === "rest") await new Promise(setImmediate);
            if (action === "follow") follow(Math.floor(followers.length / 2));
            if (action === "lose") {
              runtime.faults.set("wake", () => {
                throw new Error("lost");
              });
            }
          }
          const last = (await journal.head(taskId, ada))?.position ?? 0;
          const behind = () => followers.some(({ after, seen }) => seen.length < Math.max(0, last - after));
          for (const giveUpAt = Date.now() + 5_000; behind() && Date.now() < giveUpAt; )
            await new Promise(setImmediate);
          given.abort();
          await Promise.all(followers.map(({ done }) => done));
          for (const { after, seen } of followers) expect(seen).toEqual(range(after + 1, Math.max(after, last)));
          await journal.close();
        }),
        { numRuns: 40 },
      );
    });
  });
}
