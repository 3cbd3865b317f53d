import { describe, expect, test } from "vitest";
import { TaskState } from "../../src/a2a/types.js";
import type { AppendRequest, AppendResult, Journal } from "../../src/journal/journal.js";
import { everyOwner } from "../../src/journal/journal.js";
import { messageKey } from "../../src/journal/message-key.js";
import {
  ada,
  artifact,
  asked,
  beginning,
  begun,
  bob,
  completed,
  expectOk,
  received,
  said,
  working,
} from "../support/journal-events.js";
import { type OpenJournal, testRuntime } from "../support/journal-world.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const take = { agentVersion: "1" };

export function appendContract(open: OpenJournal): void {
  describe("append", () => {
    test("a task begins at position 1, submitted", async () => {
      const journal = await open();
      const request = beginning();
      expect(await journal.append(request)).toEqual({
        ...{ kind: "ok", first: 1, position: 1, epoch: 0, holder: undefined, lease: undefined },
      });
      const head = await journal.head(request.taskId, ada);
      expect(head).toMatchObject({ ...ada, state: TaskState.SUBMITTED, position: 1, lastMessage: 1, contextId: "c" });
      expect(head?.statusAt).toBe(head?.createdAt);
    });

    test("a task that was begun with its lease is working, in its first turn", async () => {
      const journal = await open();
      const request = beginning({ take });
      const { lease, position, holder } = expectOk(await journal.append(request));
      expect({ lease, position, holder }).toMatchObject({
        lease: { taskId: request.taskId, epoch: 1, turn: 1, attempt: 1 },
        ...{ position: 2, holder: journal.instance },
      });
      const [, turn] = await journal.read(request.taskId, 0);
      expect(turn?.event).toMatchObject({
        epoch: 1,
        kind: { case: "turnStarted", value: { ...take, turn: 1, attempt: 1, instance: journal.instance } },
      });
      expect(await journal.head(request.taskId, ada)).toMatchObject({ state: TaskState.WORKING, turn: 1, attempt: 1 });
    });

    test("what an executor writes carries its epoch, what others write none", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      await journal.append({ taskId, epoch: 1, events: [{ ...artifact("a", "1"), epoch: 9 }] });
      await journal.append({ taskId, events: [{ ...received("and"), epoch: 9 }] });
      expect((await journal.read(taskId, 2)).map(({ event }) => event.epoch)).toEqual([1, 0]);
    });

    test("what is changed after it was handed over changes nothing", async () => {
      const journal = await open();
      const message = said("before");
      const request = beginning({ events: [{ kind: { case: "messageReceived", value: { message } } }] });
      const appended = journal.append(request);
      message.parts = [];
      await appended;
      expect((await journal.load(request.taskId, ada))?.task.history[0]?.parts).toHaveLength(1);
    });

    test("a lease that is given up with a time to go on leaves the task due then", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      await journal.append({ taskId, epoch: 1, events: [asked("which?")], release: true, due: 12_345 });
      expect(await journal.head(taskId, ada)).toMatchObject({ holder: undefined, dueAt: 12_345 });
      await journal.append({ taskId, events: [], due: null });
      expect(await journal.head(taskId, ada)).toMatchObject({ dueAt: undefined, position: 3 });
    });

    test("a lease that was given up is nobody's, and its epoch is worth nothing", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      await journal.append({ taskId, epoch: 1, events: [], release: true });
      expect(await journal.head(taskId, ada)).toMatchObject({ epoch: 1, holder: undefined, position: 2 });
      expect(await journal.append({ taskId, epoch: 1, events: [working()] })).toEqual({ kind: "fenced" });
    });

    test("the holder goes on to its next turn without letting go", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      const { lease } = expectOk(await journal.append({ taskId, epoch: 1, events: [], release: true, take }));
      expect(lease).toMatchObject({ taskId, epoch: 2, turn: 2, attempt: 1 });
    });

    test("a task that is taken over goes on in the same turn, in another attempt", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      const { lease } = expectOk(await journal.append({ taskId, events: [], fence: true, take, expect: 2 }));
      expect(lease).toMatchObject({ turn: 1, attempt: 2 });
      expect(await journal.append({ taskId, epoch: 1, events: [artifact("a", "late")] })).toEqual({ kind: "fenced" });
    });

    test("a fence takes the lease from its holder", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      await journal.append({ taskId, events: [], fence: true });
      expect(await journal.head(taskId, ada)).toMatchObject({ epoch: 2, holder: undefined, position: 2 });
      expect(await journal.append({ taskId, epoch: 1, events: [working()] })).toEqual({ kind: "fenced" });
    });

    const refusals: [string, Partial<AppendRequest>, AppendResult][] = [
      ["another epoch", { epoch: 2 }, { kind: "fenced" }],
      ["a lease while another is held", { take }, { kind: "held" }],
      ["an idle task that is held", { idle: true }, { kind: "held" }],
      ["another position", { expect: 1 }, { kind: "conflict" }],
      ["no newer message", { seen: 2 }, { kind: "conflict" }],
      ["another owner", { reader: bob }, { kind: "not-found" }],
      ["another tenant", { reader: { tenant: "t", owner: "ada" } }, { kind: "not-found" }],
      ["a task that doesn't exist", { taskId: "none" }, { kind: "not-found" }],
      ["a new task", { ...beginning(), taskId: "" }, { kind: "exists" }],
      ["the right epoch at another position", { epoch: 1, expect: 2 }, { kind: "conflict" }],
      ["the right position in another epoch", { epoch: 3, expect: 3 }, { kind: "fenced" }],
    ];
    test.each(refusals)("a guard that wants %s changes no row", async (_name, guards, result) => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      await journal.append({ taskId, events: [received("more")] });
      const before = await journal.head(taskId, ada);
      const request = { events: [received("refused")], ...guards, taskId: guards.taskId || taskId };
      expect(await journal.append(request)).toEqual(result);
      expect(await journal.head(taskId, ada)).toEqual(before);
      expect(await journal.read(taskId, 3)).toEqual([]);
    });

    test("guards that all hold let the append through", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      const guards = { epoch: 1, reader: ada, expect: 2, seen: 1 };
      expect(await journal.append({ taskId, events: [artifact("a", "x")], ...guards })).toMatchObject({ kind: "ok" });
    });

    test("nothing is written after the end, whoever tries", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take, due: 5 });
      await journal.append({ taskId, epoch: 1, events: [completed()] });
      const head = await journal.head(taskId, ada);
      expect(head).toMatchObject({ state: TaskState.COMPLETED, holder: undefined, dueAt: undefined });
      const tries: Partial<AppendRequest>[] = [{}, { epoch: 1 }, { fence: true }, { take }, { expect: 3 }, { due: 1 }];
      for (const guards of tries) {
        const late = await journal.append({ taskId, events: [artifact("a", "late")], ...guards });
        expect(late).toEqual({ kind: "terminal", state: TaskState.COMPLETED });
      }
      expect(await journal.head(taskId, ada)).toEqual(head);
    });

    test("mistakes that no head could make right are thrown at once", async () => {
      const journal = await open();
      const taskId = await begun(journal);
      const wrong: AppendRequest[] = [
        { taskId, events: [{}] },
        { taskId, events: [completed(), artifact("a", "after")] },
        { taskId, events: [completed()], take },
        { taskId, events: [{ kind: { case: "turnStarted", value: {} } }] },
        { taskId, events: [{ kind: { case: "statusUpdated", value: {} } }] },
        beginning({ events: [working()] }),
        beginning({ events: [] }),
      ];
      for (const request of wrong) await expect(journal.append(request)).rejects.toThrow(TypeError);
      expect(await journal.head(taskId, ada)).toMatchObject({ position: 1 });
    });

    test("a task's entries keep the order in which they were handed over", async () => {
      const journal = await open({ groupSize: 3 });
      const tasks = await Promise.all(Array.from({ length: 5 }, () => begun(journal)));
      const texts = Array.from({ length: 20 }, (_, n) => `${n}`);
      const results = texts.flatMap((text) =>
        tasks.map((taskId) => journal.append({ taskId, events: [artifact(text, text)] })),
      );
      await Promise.all(results);
      for (const taskId of tasks) {
        const entries = await journal.read(taskId, 1);
        expect(entries.map(({ position }) => position)).toEqual(texts.map((_, n) => n + 2));
        const ids = entries.map(
          ({ event: { kind } }) => kind.case === "artifactUpdated" && kind.value.artifact?.artifactId,
        );
        expect(ids).toEqual(texts);
      }
    });

    test("one poisoned member fails alone, and a refused one alone", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime, snapshotAfter: 4 });
      const [good, poisoned] = [await begun(journal), await begun(journal)];
      await journal.append({ taskId: poisoned, events: [working(), working()] });
      // Only the poisoned member is long enough for a snapshot.
      runtime.faults.set("snapshot", () => {
        throw new Error("no room");
      });
      const results = await Promise.allSettled([
        journal.append({ taskId: good, events: [artifact("a", "1")] }),
        journal.append({ taskId: poisoned, events: [artifact("a", "1")] }),
        journal.append({ taskId: "none", events: [working()] }),
        begun(journal),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
      expect(results[2]).toMatchObject({ value: { kind: "not-found" } });
      expect(await journal.head(good, ada)).toMatchObject({ position: 2 });
      expect(await journal.head(poisoned, ada)).toMatchObject({ position: 3 });
      expect((await journal.list(ada, { limit: 1, count: true })).total).toBe(3);
    });

    test("a commit that fails leaves nothing, and the next one works", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      const taskId = await begun(journal);
      runtime.faults.set("append.before-commit", () => {
        throw new Error("the disk is full");
      });
      await expect(journal.append({ taskId, events: [working("lost")] })).rejects.toMatchObject({ reason: "INTERNAL" });
      runtime.faults.clear();
      expect(await journal.head(taskId, ada)).toMatchObject({ position: 1, state: TaskState.SUBMITTED });
      expect(await journal.append({ taskId, events: [working()] })).toMatchObject({ kind: "ok", first: 2 });
    });

    test("an answer that is lost after the commit hides nothing", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      const taskId = await begun(journal);
      runtime.faults.set("append.after-commit", () => {
        throw new Error("lost");
      });
      await expect(journal.append({ taskId, events: [working()] })).rejects.toThrow();
      runtime.faults.clear();
      expect((await journal.load(taskId, ada))?.task.status?.state).toBe(TaskState.WORKING);
      await journal.append({ taskId, events: [artifact("a", "x")] });
      expect((await journal.load(taskId, ada))?.task.artifacts).toHaveLength(1);
    });

    test("a clock that was put back doesn't move a status back", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      const taskId = await begun(journal);
      const before = (await journal.head(taskId, ada))?.statusAt;
      runtime.skewMs = -60_000;
      await journal.append({ taskId, events: [working()] });
      expect(await journal.head(taskId, ada)).toMatchObject({ statusAt: before });
    });
  });

  describe("the same message again", () => {
    const message = said("pay once");
    const key = messageKey(ada, message);

    test("a repeat is answered with the first, even when the task has ended", async () => {
      const journal = await open();
      const taskId = await begun(journal, { key });
      await journal.append({ taskId, events: [completed()] });
      const repeat = { kind: "duplicate", taskId, position: 1, reply: undefined };
      expect(await journal.append(beginning({ key }))).toEqual(repeat);
      expect(await journal.append({ taskId, key, events: [received("pay once")] })).toEqual(repeat);
      expect(await journal.append({ taskId: "none", key, reader: bob, events: [] })).toEqual(repeat);
      expect(await journal.recall(key)).toEqual(repeat);
    });

    test("a hundred at once make one task", async () => {
      const journal = await open();
      const results = await Promise.all(Array.from({ length: 100 }, () => journal.append(beginning({ key }))));
      expect(results.filter(({ kind }) => kind === "ok")).toHaveLength(1);
      expect(new Set(results.map((result) => result.kind === "duplicate" && result.taskId)).size).toBe(2);
      expect((await journal.list(ada, { limit: 10, count: true })).total).toBe(1);
    });

    test("a key is free again after its window, and not before", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      const first = await begun(journal, { key });
      runtime.skewMs = DAY_MS - 5_000;
      expect(await journal.append(beginning({ key }))).toMatchObject({ kind: "duplicate", taskId: first });
      runtime.skewMs = DAY_MS + 1_000;
      expect(await journal.recall(key)).toBeUndefined();
      const second = await begun(journal, { key });
      expect(await journal.recall(key)).toMatchObject({ taskId: second });
    });

    test("a refused append doesn't use its key up", async () => {
      const journal = await open();
      expect(await journal.append({ taskId: "none", key, events: [received("x")] })).toEqual({ kind: "not-found" });
      expect(await journal.append(beginning({ key }))).toMatchObject({ kind: "ok" });
    });

    test("a direct reply is kept once, and answers a repeat", async () => {
      const journal = await open();
      const replies = [1, 2, 3].map((n) => new Uint8Array([n]));
      const kept = await Promise.all(replies.map((reply) => journal.remember(key, reply)));
      expect(kept[0]).toBeUndefined();
      for (const found of [...kept.slice(1), await journal.recall(key), await journal.append(beginning({ key }))]) {
        expect(found).toMatchObject({ kind: "duplicate", taskId: undefined });
        expect(found).toHaveProperty("reply.0", 1);
      }
    });

    test("a task's message isn't replaced by a direct reply", async () => {
      const journal = await open();
      const taskId = await begun(journal, { key });
      expect(await journal.remember(key, new Uint8Array([1]))).toMatchObject({ kind: "duplicate", taskId });
    });

    test("the position is that of the message", async () => {
      const journal = await open();
      const taskId = await begun(journal);
      await journal.append({ taskId, key, events: [working(), received("second")] });
      expect(await journal.recall(key)).toMatchObject({ taskId, position: 3 });
    });
  });

  test("every owner is a reader of everything", async () => {
    const journal: Journal = await open();
    const taskId = await begun(journal, { scope: bob });
    expect(await journal.head(taskId, everyOwner)).toMatchObject(bob);
  });
}
