import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Disk, openSynced } from "../src/journal/disk.js";
import { everyOwner, type StoredEvent } from "../src/journal/journal.js";
import { systemRuntime } from "../src/runtime/runtime.js";
import { ada, artifact, beginning, begun, expectOk } from "./support/journal-events.js";
import { openForTest } from "./support/journal-world.js";

/** A disk that takes as long as the test wants, or fails. */
function slowDisk() {
  const syncs: { settle: () => void; fail: (error: Error) => void }[] = [];
  let held = false;
  let count = 0;
  const sync = () => {
    count++;
    if (!held) return Promise.resolve();
    return new Promise<void>((settle, fail) => syncs.push({ settle, fail }));
  };
  return {
    file: { sync, close: () => Promise.resolve() },
    count: () => count,
    hold: () => {
      held = true;
    },
    letGo: () => {
      held = false;
      for (const { settle } of syncs.splice(0)) settle();
    },
    fail: () => {
      for (const { fail } of syncs.splice(0)) fail(new Error("EIO"));
    },
  };
}

const turns = async (n = 20) => {
  for (let turn = 0; turn < n; turn++) await new Promise(setImmediate);
};

/** What has become of a promise by now. */
async function soon<T>(promise: Promise<T> | undefined): Promise<T | "waits"> {
  await turns();
  return Promise.race([promise as Promise<T>, Promise.resolve("waits" as const)]);
}

describe("a disk", () => {
  test("that has everything isn't waited for", () => {
    const disk = new Disk(slowDisk().file, systemRuntime);
    expect(disk.settled()).toBeUndefined();
  });

  test("takes all commits before a sync in one, and one that comes meanwhile in the next", async () => {
    const slow = slowDisk();
    slow.hold();
    const disk = new Disk(slow.file, systemRuntime);
    disk.committed();
    const first = disk.settled();
    disk.committed();
    const late = disk.settled();
    disk.committed();
    const later = disk.settled();
    slow.letGo();
    slow.hold();
    await first;
    expect(await soon(late)).toBe("waits");
    slow.letGo();
    await Promise.all([late, later]);
    expect(slow.count()).toBe(2);
    expect(disk.settled()).toBeUndefined();
  });

  test("whose sync fails says so to all who wait, and to everybody after them", async () => {
    const slow = slowDisk();
    slow.hold();
    const disk = new Disk(slow.file, systemRuntime);
    disk.committed();
    const waiting = [disk.settled(), disk.settled()];
    slow.fail();
    for (const one of waiting) await expect(one).rejects.toMatchObject({ reason: "INTERNAL" });
    slow.letGo();
    expect(() => disk.settled()).toThrow(/disk failed/);
    expect(() => disk.assertSound()).toThrow(/disk failed/);
  });
});

describe("a journal whose disk is slow", () => {
  let file = "";
  beforeEach(() => {
    file = join(mkdtempSync(join(tmpdir(), "nuncio-disk-")), "journal.db");
  });
  afterEach(() => rmSync(join(file, ".."), { recursive: true, force: true }));

  async function openOn(slow: ReturnType<typeof slowDisk>) {
    return openForTest(`sqlite:${file}`, { openSynced: async () => slow.file, pollMs: 20 });
  }

  test("tells nobody of what isn't on it: not who appends, follows, reads, lists, or repeats", async () => {
    const slow = slowDisk();
    const journal = await openOn(slow);
    const key = new Uint8Array(16).fill(7);
    const taskId = await begun(journal);
    const seen: StoredEvent[] = [];
    journal.watch(taskId, 1, { entry: (stored) => void seen.push(stored), ended() {} });
    slow.hold();
    const request = beginning({ key });
    const asked = [journal.append({ taskId, events: [artifact("a", "x")] }), journal.append(request)];
    await turns();
    const reads = [
      journal.head(taskId, ada),
      journal.load(taskId, ada),
      journal.read(taskId, 0),
      journal.list(ada, { limit: 9, count: true }),
      journal.recall(key),
    ];
    for (const one of [...asked, ...reads]) expect(await soon<unknown>(one)).toBe("waits");
    expect(seen).toEqual([]);
    slow.letGo();
    for (const one of asked) expectOk(await one);
    expect((await reads[0]) as object).toMatchObject({ position: 2 });
    expect((await reads[3]) as object).toMatchObject({ total: 2 });
    expect((await reads[4]) as object).toMatchObject({ taskId: request.taskId });
    await expect.poll(() => seen.map(({ position }) => position)).toEqual([2]);
  });

  test("doesn't read what another process has committed before it is on the disk", async () => {
    const slow = slowDisk();
    const [writer, reader] = [await openForTest(`sqlite:${file}`), await openOn(slow)];
    const before = slow.count();
    const taskId = await begun(writer);
    slow.hold();
    const head = reader.head(taskId, ada);
    expect(await soon(head)).toBe("waits");
    slow.letGo();
    expect(await head).toMatchObject({ taskId, position: 1 });
    expect(await reader.head(taskId, ada)).toMatchObject({ position: 1 });
    expect(slow.count()).toBe(before + 1);
  });

  test("whose disk fails acknowledges nothing any more, isn't ready, and is whole when it is opened again", async () => {
    const slow = slowDisk();
    const journal = await openOn(slow);
    const taskId = await begun(journal);
    slow.hold();
    const lost = journal.append({ taskId, events: [artifact("a", "x")] });
    const failing = expect(lost).rejects.toMatchObject({ reason: "INTERNAL" });
    await turns();
    slow.fail();
    await failing;
    slow.letGo();
    await expect(journal.append(beginning())).rejects.toMatchObject({ reason: "INTERNAL" });
    await expect(journal.head(taskId, ada)).rejects.toMatchObject({ reason: "INTERNAL" });
    expect(await journal.ready()).toBe(false);
    const again = await openForTest(`sqlite:${file}`);
    expect(await again.head(taskId, everyOwner)).toBeDefined();
  });

  test("whose disk has failed counts as dead after its lease: others may end its tasks", async () => {
    const slow = slowDisk();
    const journal = await openForTest(`sqlite:${file}`, { openSynced: async () => slow.file, leaseMs: 300 });
    const other = await openForTest(`sqlite:${file}`);
    const taskId = await begun(journal, { take: { agentVersion: "1" } });
    slow.hold();
    const failing = expect(journal.append({ taskId, epoch: 1, events: [artifact("a", "x")] })).rejects.toThrow();
    await turns();
    slow.fail();
    await failing;
    slow.letGo();
    const orphans = async () => (await other.leases.orphans(9)).map((head) => head.taskId);
    await expect.poll(orphans, { timeout: 2_000 }).toEqual([taskId]);
  });

  test("that is closed under its readers tells them that it drains", async () => {
    const journal = await openForTest(`sqlite:${file}`);
    const taskId = await begun(journal);
    const reads = Array.from({ length: 50 }, (_, n) => [journal.head(taskId, ada), journal.read(taskId, n % 2)]).flat();
    const settled = Promise.allSettled([...reads, journal.list(ada, { limit: 1 }), journal.load(taskId, ada)]);
    await journal.close();
    const late = await Promise.allSettled([
      journal.head(taskId, ada),
      journal.load(taskId, ada),
      journal.read(taskId, 0),
    ]);
    for (const one of [...(await settled), ...late])
      if (one.status === "rejected") expect(one.reason).toMatchObject({ reason: "DRAINING" });
    expect(late.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("isn't ready when its file was deleted or replaced", async () => {
    const journal = await openForTest(`sqlite:${file}`);
    expect(await journal.ready()).toBe(true);
    renameSync(file, `${file}.moved`);
    expect(await journal.ready()).toBe(false);
    writeFileSync(file, "another");
    expect(await journal.ready()).toBe(false);
    rmSync(file);
    renameSync(`${file}.moved`, file);
    expect(await journal.ready()).toBe(true);
  });

  test("syncs a real file", async () => {
    const journal = await openForTest(`sqlite:${file}`, {
      async openSynced(path) {
        const real = await openSynced(path);
        paths.push(path);
        return { ...real, sync: () => real.sync().then(() => void synced++) };
      },
    });
    const before = synced;
    await begun(journal);
    expect(paths).toEqual([`${file}-wal`]);
    expect(synced).toBe(before + 1);
  });
  const paths: string[] = [];
  let synced = 0;
});
