import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { everyOwner } from "../src/journal/journal.js";
import { checkJournalFile } from "./support/journal-check.js";
import { artifact } from "./support/journal-events.js";
import { openForTest } from "./support/journal-world.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-crash-"));
const child = fileURLToPath(new URL("./support/journal-child.ts", import.meta.url));
const children = new Set<ChildProcess>();

afterEach(() => {
  for (const running of children) running.kill("SIGKILL");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly acknowledged: { readonly taskId: string; readonly position: number }[];
  readonly done: boolean;
  readonly signal: NodeJS.Signals | null;
}

/** Runs the child to its end; `onLine` hears each line that it writes. */
async function run(
  args: readonly (string | number)[],
  onLine: (count: number, process: ChildProcess) => void = () => {},
): Promise<Run> {
  const started = spawn(process.execPath, ["--import", "tsx", child, ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(started);
  let text = "";
  let lines = 0;
  started.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    for (; lines < text.split("\n").length - 1; lines++) onLine(lines, started);
  });
  const signal = await new Promise<NodeJS.Signals | null>((resolve) =>
    started.on("close", (_code, name) => resolve(name)),
  );
  children.delete(started);
  // A line that was cut off wasn't said.
  const said = text.split("\n").slice(0, -1);
  const acknowledged = said
    .filter((line) => line.includes(" "))
    .map((line) => {
      const [taskId = "", position = ""] = line.split(" ");
      return { taskId, position: Number(position) };
    });
  return { acknowledged, done: said.includes("done"), signal };
}

async function expectKept(file: string, { acknowledged }: Run): Promise<void> {
  const journal = await openForTest(`sqlite:${file}`);
  for (const { taskId, position } of acknowledged) {
    const head = await journal.head(taskId, everyOwner);
    expect(head?.position).toBeGreaterThanOrEqual(position);
    expect((await journal.read(taskId, position - 1, 1))[0]?.position).toBe(position);
  }
  expect(checkJournalFile(file)).toEqual([]);
}

describe("a process that is killed", { timeout: 60_000 }, () => {
  test.each([
    ["append.before-commit", 1],
    ["append.before-commit", 20],
    ["append.before-sync", 1],
    ["append.before-sync", 20],
    ["append.after-commit", 1],
    ["append.after-commit", 20],
    ["snapshot", 3],
    ["heartbeat", 2],
  ])("at %s (%i) has kept all that it acknowledged", async (point, nth) => {
    const file = join(folder, `${randomUUID()}.db`);
    const killed = await run([file, 100_000, point, nth]);
    expect(killed).toMatchObject({ signal: "SIGKILL", done: false });
    await expectKept(file, killed);
  });

  test.each([5, 37, 150, 400, 900])("at a moment of its own (after %i lines) has kept them too", async (count) => {
    const file = join(folder, `${randomUUID()}.db`);
    const killed = await run([file, 100_000], (lines, started) => {
      if (lines === count) started.kill("SIGKILL");
    });
    expect(killed).toMatchObject({ signal: "SIGKILL", done: false });
    expect(killed.acknowledged.length).toBeGreaterThanOrEqual(count);
    await expectKept(file, killed);
  });

  test("leaves orphans at once, and its tasks can be taken over", async () => {
    const file = join(folder, `${randomUUID()}.db`);
    await run([file, 100_000, "append.after-commit", 5]);
    // Its lease is far from over for a clock that stands still: the process is what is gone.
    const journal = await openForTest(`sqlite:${file}`);
    const orphans = await journal.leases.orphans(100);
    expect(orphans.length).toBeGreaterThan(0);
    for (const { taskId, position, turn } of orphans) {
      const take = { agentVersion: "2" };
      const taken = await journal.append({ taskId, events: [], expect: position, fence: true, take });
      expect(taken).toMatchObject({ kind: "ok", lease: { turn, attempt: 2 } });
      expect(await journal.append({ taskId, epoch: 1, events: [artifact("a", "late")] })).toEqual({ kind: "fenced" });
    }
    expect(await journal.leases.orphans(100)).toEqual([]);
    expect(checkJournalFile(file)).toEqual([]);
  });
});

test("two processes that append to one file lose nothing", { timeout: 60_000 }, async () => {
  const file = join(folder, `${randomUUID()}.db`);
  const runs = await Promise.all([run([file, 500]), run([file, 500])]);
  for (const each of runs) {
    expect(each).toMatchObject({ done: true, signal: null });
    expect(each.acknowledged).toHaveLength(500);
    await expectKept(file, each);
  }
});
