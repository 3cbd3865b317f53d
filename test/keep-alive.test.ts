import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, expect, test } from "vitest";
import { TaskState } from "../src/a2a/types.js";
import { everyOwner } from "../src/journal/journal.js";
import { openForTest } from "./support/journal-world.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-alive-"));
afterAll(() => rmSync(folder, { recursive: true }));

function start(child: string, ...args: string[]) {
  const running = spawn(process.execPath, ["--import", "tsx", `test/support/${child}`, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  running.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  return new Promise<{ code: number | null; said: string[] }>((resolve) =>
    running.on("close", (code) => resolve({ code, said: said.trim().split("\n") })),
  );
}

test("a process that finds its journal's file locked waits for it", async () => {
  const file = join(folder, "locked.db");
  const other = new Database(file);
  other.exec("begin immediate");
  const ended = start("journal-child.ts", file, "1");
  const early = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 2_500))]);
  other.exec("rollback");
  other.close();
  expect(early).toBeUndefined();
  expect(await ended).toMatchObject({ code: 0, said: ["ready", expect.any(String), "done"] });
});

test("a server that closes lives until a run that waits for nothing has been ended, and its task says so", async () => {
  const file = join(folder, "hung.db");
  const { code, said } = await start("hung-run-child.ts", file);
  expect(code).toBe(0);
  const journal = await openForTest(`sqlite:${file}`);
  expect((await journal.load(said[0] ?? "", everyOwner))?.task.status?.state).toBe(TaskState.FAILED);
});
