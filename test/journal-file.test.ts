import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { TaskState } from "../src/a2a/types.js";
import { everyOwner } from "../src/journal/journal.js";
import { messageKey } from "../src/journal/message-key.js";
import { checkJournalFile } from "./support/journal-check.js";
import { ada, artifact, asked, beginning, begun, completed, expectOk, said } from "./support/journal-events.js";
import { openForTest, recordingLogger, testRuntime } from "./support/journal-world.js";

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nuncio-file-"));
  file = join(folder, "journal.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const take = { agentVersion: "1" };
const open = (options: Parameters<typeof openForTest>[1] = {}) => openForTest(`sqlite:${file}`, options);

/** Changes the file behind the journal's back. */
function tamper(statement: string): void {
  const database = new Database(file);
  database.exec(statement);
  database.close();
}

describe("opening a file", () => {
  test("keeps what was written, tasks and totals", async () => {
    const first = await open();
    const taskId = await begun(first);
    await first.append({ taskId, events: [artifact("a", "x"), completed()] });
    const before = await first.load(taskId, ada);
    await first.close();
    const second = await open();
    expect(second.instance).not.toBe(first.instance);
    expect(await second.load(taskId, ada)).toEqual(before);
    expect((await second.list(ada, { limit: 5, count: true, state: TaskState.COMPLETED })).total).toBe(1);
    expect(checkJournalFile(file)).toEqual([]);
  });

  test.each([
    ["names nothing", () => "postgres:", "names no journal"],
    ["has no file", () => "sqlite:", "names no journal"],
    ["lies nowhere", () => `sqlite:${join(folder, "no", "where.db")}`, "directory does not exist"],
    ["is a folder", () => `sqlite:${folder}`, "unable to open"],
  ])("a target that %s is refused in one line", async (_name, target, said) => {
    await expect(openForTest(target())).rejects.toThrow(said);
    await expect(openForTest(target())).rejects.not.toThrow("\n");
  });

  test("what isn't a database is refused, and left as it was", async () => {
    writeFileSync(file, "Dear diary, ".repeat(100));
    await expect(open()).rejects.toThrow(/Can't open .*journal\.db as a journal: file is not a database/);
  });

  test("another program's database is refused, and left as it was", async () => {
    tamper("create table recipe (name text)");
    await expect(open()).rejects.toThrow(`another program's database (it has a table "recipe")`);
    const database = new Database(file);
    expect(database.pragma("journal_mode", { simple: true })).toBe("delete");
    expect(database.prepare("select name from sqlite_master").all()).toEqual([{ name: "recipe" }]);
    database.close();
  });

  test("a newer release's file is refused", async () => {
    await (await open()).close();
    tamper("insert into migration (number, at) values (99, 0)");
    await expect(open()).rejects.toThrow("a newer release wrote it (schema 99");
  });

  test("a driver that isn't installed is named", async () => {
    vi.resetModules();
    vi.doMock("better-sqlite3", () => {
      throw new Error("Cannot find package");
    });
    const { openSqlJournal } = await import("../src/journal/open.js");
    onTestFinished(() => vi.doUnmock("better-sqlite3"));
    const options = { runtime: testRuntime(), logger: recordingLogger() };
    await expect(openSqlJournal({ target: "memory:", ...options })).rejects.toThrow("npm install better-sqlite3");
  });

  test("the file is one with a write-ahead log", async () => {
    await begun(await open());
    const database = new Database(file, { readonly: true });
    expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
    database.close();
  });

  test("several at once make it once", async () => {
    const journals = await Promise.all([1, 2, 3, 4].map(() => open()));
    await Promise.all(journals.map((journal) => begun(journal)));
    expect((await journals[0]?.list(ada, { limit: 9, count: true }))?.total).toBe(4);
  });

  test("a closed journal says so, and leaves no row behind", async () => {
    const journal = await open();
    const waiting = journal.append(beginning());
    await journal.close();
    expect((await waiting).kind).toBe("ok");
    expect(await journal.ready()).toBe(false);
    await expect(journal.append(beginning())).rejects.toMatchObject({ reason: "DRAINING" });
    const database = new Database(file, { readonly: true });
    expect(database.prepare("select * from instance").all()).toEqual([]);
    database.close();
  });
});

describe("two instances on one file", () => {
  test("each key is used once, each lease held once", async () => {
    const [one, two] = [await open(), await open()];
    const key = messageKey(ada, said("once"));
    const sends = [one, two].flatMap((journal) => [1, 2, 3].map(() => journal.append(beginning({ key }))));
    expect((await Promise.all(sends)).filter(({ kind }) => kind === "ok")).toHaveLength(1);
    const due = await Promise.all(Array.from({ length: 20 }, () => begun(one, { due: 1 })));
    const claims = await Promise.all([one, two].map(({ leases }) => leases.claim(20, () => "1")));
    expect(
      claims
        .flat()
        .map(({ taskId }) => taskId)
        .sort(),
    ).toEqual(due.sort());
    expect(checkJournalFile(file)).toEqual([]);
  });

  test("what one appends the other loads at once, however often it has loaded the task before", async () => {
    const [one, two] = [await open({ snapshotAfter: 4 }), await open({ snapshotAfter: 4 })];
    const taskId = await begun(one);
    for (let n = 0; n < 10; n++) {
      const [writer, reader] = n % 2 === 0 ? [one, two] : [two, one];
      await writer.append({ taskId, events: [artifact(`${n}`, "x"), artifact("a", "y", true)] });
      // Now and then an append of the other's goes by unread.
      if (n % 3 === 0) continue;
      expect(await reader.load(taskId, ada)).toEqual(await writer.load(taskId, ada));
    }
    expect(checkJournalFile(file)).toEqual([]);
  });

  test("what one appends the other's followers see, from both in one order", async () => {
    const [one, two] = [await open({ pollMs: 5 }), await open({ pollMs: 5 })];
    const taskId = await begun(one);
    const positions = [one, two].map(async (journal) => {
      const seen: number[] = [];
      for await (const { position } of journal.follow(taskId, 0)) {
        seen.push(position);
        if (position === 41) break;
      }
      return seen;
    });
    for (let n = 0; n < 20; n++) {
      await Promise.all([one, two].map((journal) => journal.append({ taskId, events: [artifact("a", "x", true)] })));
    }
    const expected = Array.from({ length: 41 }, (_, n) => n + 1);
    expect(await Promise.all(positions)).toEqual([expected, expected]);
  });

  test("a stalled holder's appends change nothing once another has taken over", async () => {
    const late = testRuntime();
    const [stalled, other] = [await open({ leaseMs: 60_000 }), await open({ runtime: late })];
    const taskId = await begun(stalled, { take });
    expect(await other.leases.orphans(5)).toEqual([]);
    late.skewMs = 61_000;
    const [orphan] = await other.leases.orphans(5);
    expect(orphan).toMatchObject({ taskId, holder: stalled.instance });
    expectOk(await other.append({ taskId, events: [], expect: orphan?.position ?? 0, fence: true, take }));
    const head = await stalled.head(taskId, everyOwner);
    expect(await stalled.append({ taskId, epoch: 1, events: [completed()] })).toEqual({ kind: "fenced" });
    expect(await stalled.head(taskId, everyOwner)).toEqual(head);
    expect(await other.append({ taskId, epoch: 3, events: [completed()] })).toMatchObject({ kind: "ok" });
  });

  test("one that closed without letting go leaves orphans; one that is alive leaves none", async () => {
    const [gone, alive, asking] = [await open(), await open(), await open()];
    const taskId = await begun(gone, { take });
    await begun(alive, { take });
    await gone.close();
    expect((await asking.leases.orphans(5)).map((head) => head.taskId)).toEqual([taskId]);
  });

  test.each([
    ["a process of this machine that is gone", "pid = 2147483646", true],
    ["this process's number, from before a restart", `pid = ${process.pid}, id = 'before'`, true],
    ["another machine", "host = 'elsewhere', pid = 2147483646", false],
    ["a process of this machine that runs", "pid = 1", false],
  ])("a holder on %s", async (_name, change, isDead) => {
    const [holder, asking] = [await open(), await open()];
    const taskId = await begun(holder, { take });
    tamper(`update instance set ${change} where id = '${holder.instance}'`);
    if (change.includes("id = 'before'")) tamper("update task set holder = 'before'");
    const orphans = await asking.leases.orphans(5);
    expect(orphans.map((head) => head.taskId)).toEqual(isDead ? [taskId] : []);
  });

  test("a lock that is held for a while from outside delays an append, and nothing more", async () => {
    const journal = await open();
    const taskId = await begun(journal);
    const database = new Database(file);
    database.exec("begin immediate");
    const appended = journal.append({ taskId, events: [asked("?")] });
    setTimeout(() => {
      database.exec("rollback");
      database.close();
    }, 300);
    expect(await appended).toMatchObject({ kind: "ok", position: 2 });
  });

  test("heartbeats prolong the row, and bring it back when it was removed", async () => {
    const runtime = testRuntime();
    const logger = recordingLogger();
    let beats = 0;
    const beaten = new Promise<void>((resolve) => {
      runtime.faults.set("heartbeat", () => {
        if (++beats === 1) throw new Error("missed");
        if (beats === 2) tamper("delete from instance");
        if (beats === 4) resolve();
      });
    });
    const [journal, asking] = [await open({ runtime, logger, leaseMs: 60 }), await open()];
    await begun(journal, { take });
    await beaten;
    expect(logger.said).toEqual(["A heartbeat failed; the next one tries again"]);
    expect(await asking.leases.orphans(5)).toEqual([]);
  });

  test("keys whose window is over are swept away", async () => {
    const runtime = testRuntime();
    const journal = await open({ runtime, leaseMs: 60 });
    await journal.remember(messageKey(ada, said("old")), new Uint8Array([1]));
    runtime.skewMs = 25 * 60 * 60 * 1_000;
    await new Promise<void>((resolve) => {
      let beats = 0;
      runtime.faults.set("heartbeat", () => void (++beats === 2 && resolve()));
    });
    const database = new Database(file, { readonly: true });
    expect(database.prepare("select * from seen").all()).toEqual([]);
    database.close();
  });
});
