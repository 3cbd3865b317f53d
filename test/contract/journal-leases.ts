import { describe, expect, test, vi } from "vitest";
import { TaskState } from "../../src/a2a/types.js";
import { ada, artifact, asked, begun, completed, received } from "../support/journal-events.js";
import { type OpenJournal, testRuntime } from "../support/journal-world.js";

const take = { agentVersion: "1" };

export function leaseContract(open: OpenJournal): void {
  describe("leases", () => {
    test("what is due and unheld is claimed once, in a new turn", async () => {
      const journal = await open();
      const [due, later] = [await begun(journal, { due: 1 }), await begun(journal, { due: Date.now() + 60_000 })];
      const [held, parked] = [await begun(journal, { take, due: 1 }), await begun(journal)];
      const claims = await Promise.all([1, 2].map(() => journal.leases.claim(10, (agent) => `${agent} 2`)));
      expect(claims.flat()).toMatchObject([{ taskId: due, epoch: 1, turn: 1, attempt: 1 }]);
      const [, turn] = await journal.read(due, 0);
      expect(turn?.event.kind.value).toMatchObject({ agentVersion: "greeter 2", turn: 1 });
      expect(await journal.head(due, ada)).toMatchObject({ state: TaskState.WORKING, dueAt: undefined });
      for (const taskId of [later, parked]) expect(await journal.head(taskId, ada)).toMatchObject({ epoch: 0 });
      expect(await journal.head(held, ada)).toMatchObject({ epoch: 1 });
    });

    test("a claim takes no more than its limit, the longest due first", async () => {
      const journal = await open();
      const tasks = [
        await begun(journal, { due: 3 }),
        await begun(journal, { due: 1 }),
        await begun(journal, { due: 2 }),
      ];
      const claimed = (await journal.leases.claim(2, () => "1")).map(({ taskId }) => taskId);
      expect(claimed).toEqual([tasks[1], tasks[2]]);
    });

    test("what is put off while it is being claimed isn't claimed", async () => {
      const journal = await open();
      const tasks = [await begun(journal, { due: 1 }), await begun(journal, { due: 1 })];
      const claimed = journal.leases.claim(5, () => "1");
      const later = [Date.now() + 60_000, null];
      const putOff = tasks.map((taskId, index) => journal.append({ taskId, events: [], due: later[index] ?? null }));
      expect(await claimed).toEqual([]);
      for (const result of await Promise.all(putOff)) expect(result.kind).toBe("ok");
    });

    test("a task that was parked and answered is claimed in its next turn", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take });
      await journal.append({ taskId, epoch: 1, events: [asked("which?")], release: true });
      expect(await journal.leases.claim(5, () => "1")).toEqual([]);
      await journal.append({ taskId, events: [received("that")], due: 1 });
      expect(await journal.leases.claim(5, () => "1")).toMatchObject([{ taskId, epoch: 2, turn: 2, attempt: 1 }]);
    });

    test("the worker hears of what was taken here and of what is due, after the commit", async () => {
      const journal = await open();
      const heads: unknown[] = [];
      journal.leases.onTaken = vi.fn(({ taskId }) => heads.push(journal.head(taskId, ada)));
      journal.leases.onDue = vi.fn();
      const taken = await begun(journal, { take });
      await begun(journal, { due: 1 });
      await journal.leases.claim(5, () => "1");
      expect(journal.leases.onTaken).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ taskId: taken, epoch: 1, turn: 1, attempt: 1 }),
      );
      expect(await heads[0]).toMatchObject({ holder: journal.instance });
      expect(journal.leases.onDue).toHaveBeenCalledOnce();
    });

    test("a worker's fault isn't the caller's", async () => {
      const journal = await open();
      const fail = () => {
        throw new Error("the worker is broken");
      };
      Object.assign(journal.leases, { onTaken: fail, onDue: fail });
      await begun(journal, { take });
      await begun(journal, { due: 1 });
      expect((await journal.list(ada, { limit: 5 })).heads).toHaveLength(2);
    });

    test("an instance that is alive leaves no orphans, however late its heartbeat", async () => {
      const runtime = testRuntime();
      const journal = await open({ runtime });
      await begun(journal, { take });
      runtime.skewMs = 60_000;
      expect(await journal.leases.orphans(10)).toEqual([]);
    });

    test("a task that ended under its holder isn't held any more", async () => {
      const journal = await open();
      const taskId = await begun(journal, { take, due: 1 });
      await journal.append({ taskId, epoch: 1, events: [artifact("a", "x"), completed()] });
      expect(await journal.head(taskId, ada)).toMatchObject({ holder: undefined, epoch: 1 });
      expect(await journal.leases.claim(5, () => "1")).toEqual([]);
    });
  });
}
