import { clone, equals } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Task, TaskSchema, TaskState } from "../../src/a2a/types.js";
import type { Head, Journal, ListQuery, Scope } from "../../src/journal/journal.js";
import { fold } from "../../src/journal/projection.js";
import { ada, artifact, asked, begun, bob, completed, received, status, working } from "../support/journal-events.js";
import { type OpenJournal, testRuntime } from "../support/journal-world.js";

/** The task at each position, folded one entry at a time from the log alone. */
async function versions(journal: Journal, taskId: string): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const entry of await journal.read(taskId, 0, 10_000)) tasks.push(fold(tasks.at(-1), [entry]));
  return tasks;
}

async function longTask(journal: Journal): Promise<string> {
  const taskId = await begun(journal);
  for (let n = 0; n < 12; n++) {
    await journal.append({
      taskId,
      events: [artifact("a", `${n}`, true), working(`step ${n}`), artifact(`b${n}`, "x")],
    });
    if (n % 4 === 3) await journal.append({ taskId, events: [asked("more?"), received("more")] });
  }
  return taskId;
}

export function readContract(open: OpenJournal): void {
  describe("load", () => {
    test.each([2, 5, 64])(
      "the task at any position is the fold of its log (snapshots after %i)",
      async (snapshotAfter) => {
        const journal = await open({ snapshotAfter });
        const taskId = await longTask(journal);
        const expected = await versions(journal, taskId);
        const order = [43, 1, 42, 20, 21, 22, 5, 40, 43, 2];
        for (const position of [...order, ...expected.map((_, index) => index + 1)]) {
          const loaded = await journal.load(taskId, ada, position);
          expect(loaded?.position).toBe(position);
          expect(loaded?.task).toEqual(expected[position - 1]);
        }
        expect((await journal.load(taskId, ada, 99))?.position).toBe(expected.length);
        expect(await journal.load(taskId, ada, 0)).toBeUndefined();
      },
    );

    test("the newest task is where its head says", async () => {
      const journal = await open();
      const taskId = await longTask(journal);
      const head = await journal.head(taskId, ada);
      const { task, position } = (await journal.load(taskId, ada)) ?? {};
      expect(position).toBe(head?.position);
      expect(task?.status?.state).toBe(head?.state);
      expect(Number(task?.status?.timestamp?.seconds)).toBe(Math.floor((head?.statusAt ?? 0) / 1_000));
    });

    test("what a reader holds never changes", async () => {
      const journal = await open({ snapshotAfter: 4 });
      const taskId = await begun(journal);
      const held: { task: Task; copy: Task }[] = [];
      for (let n = 0; n < 20; n++) {
        await journal.append({ taskId, events: [artifact("a", `${n}`, true), working(`step ${n}`)] });
        const task = (await journal.load(taskId, ada))?.task;
        if (task !== undefined) held.push({ task, copy: clone(TaskSchema, task) });
      }
      expect(held).toHaveLength(20);
      for (const { task, copy } of held) expect(equals(TaskSchema, task, copy)).toBe(true);
    });
  });

  test("another owner sees nothing in any read", async () => {
    const journal = await open();
    const taskId = await begun(journal, { contextId: "shared" });
    const others: Scope[] = [bob, { tenant: "t", owner: "ada" }, { tenant: "ada", owner: "" }];
    for (const reader of others) {
      expect(await journal.head(taskId, reader)).toBeUndefined();
      expect(await journal.load(taskId, reader)).toBeUndefined();
      expect(await journal.append({ taskId, reader, events: [received("x")] })).toEqual({ kind: "not-found" });
      for (const contextId of [undefined, "shared"]) {
        const page = await journal.list(reader, { limit: 10, count: true, contextId });
        expect(page).toEqual({ heads: [], more: false, total: 0 });
      }
    }
  });

  describe("list", () => {
    const states = [TaskState.WORKING, TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED];
    const action = fc.record({
      act: fc.constantFrom("begin", "move", "tick"),
      who: fc.constantFrom(ada, bob, { tenant: "t", owner: "ada" }),
      contextId: fc.constantFrom("c", "d"),
      which: fc.nat(20),
      state: fc.constantFrom(...states),
    });
    const filter = fc.record({
      who: fc.constantFrom(ada, bob),
      contextId: fc.constantFrom(undefined, "c", "none"),
      state: fc.constantFrom(undefined, TaskState.SUBMITTED, ...states),
      statusAfter: fc.constantFrom(undefined, 0, 3, 1_000),
      limit: fc.integer({ min: 1, max: 5 }),
    });

    test("order, pages, filters and totals are those of a plain list", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(action, { maxLength: 30 }),
          fc.array(filter, { maxLength: 6 }),
          async (actions, filters) => {
            const runtime = testRuntime();
            let now = 0;
            runtime.now = () => now;
            const journal = await open({ runtime });
            const tasks: string[] = [];
            for (const { act, who, contextId, which, state } of actions) {
              if (act === "tick") now++;
              if (act === "begin") tasks.push(await begun(journal, { scope: who, contextId }));
              const taskId = tasks[which % Math.max(1, tasks.length)];
              if (act === "move" && taskId !== undefined) await journal.append({ taskId, events: [status(state)] });
            }
            const heads = await Promise.all(tasks.map((taskId) => journal.head(taskId, "every owner")));
            for (const { who, limit, ...wanted } of filters) {
              const model = matching(
                heads.filter((head) => head !== undefined),
                who,
                wanted,
              );
              expect(await pages(journal, who, { ...wanted, limit })).toEqual(model);
            }
            await journal.close();
          },
        ),
        { numRuns: 30 },
      );
    });

    test("a page goes on after its last row, even when that row has moved", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      const tasks: string[] = [];
      for (let n = 0; n < 3; n++) {
        runtime.skewMs += 10;
        tasks.unshift(await begun(journal));
      }
      const first = await journal.list(ada, { limit: 1 });
      const last = first.heads[0];
      expect(last?.taskId).toBe(tasks[0]);
      await journal.append({ taskId: tasks[0] ?? "", events: [completed()] });
      const rest = await journal.list(ada, { limit: 5, after: last });
      expect(rest.heads.map(({ taskId }) => taskId)).toEqual(tasks.slice(1));
    });
  });
}

function matching(
  heads: readonly Head[],
  who: Scope,
  { contextId, state, statusAfter = 0 }: Partial<ListQuery>,
): string[] {
  return heads
    .filter((head) => head.tenant === who.tenant && head.owner === who.owner)
    .filter((head) => contextId === undefined || head.contextId === contextId)
    .filter((head) => state === undefined || head.state === state)
    .filter((head) => head.statusAt >= statusAfter)
    .sort((a, b) => b.statusAt - a.statusAt || (a.taskId < b.taskId ? 1 : -1))
    .map(({ taskId }) => taskId);
}

/** All pages in a row; each must say how many there are in all. */
async function pages(journal: Journal, who: Scope, query: ListQuery): Promise<string[]> {
  const found: string[] = [];
  const totals: number[] = [];
  let after: ListQuery["after"];
  for (;;) {
    const page = await journal.list(who, { ...query, after, count: true });
    found.push(...page.heads.map(({ taskId }) => taskId));
    totals.push(page.total);
    expect(page.heads.length).toBeLessThanOrEqual(query.limit);
    if (!page.more) break;
    after = page.heads.at(-1);
  }
  for (const total of totals) expect(total).toBe(found.length);
  return found;
}
