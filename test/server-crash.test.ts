import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, TaskState } from "nuncio/client";
import { afterAll, expect, test } from "vitest";
import { nuncioServe } from "./support/command.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-crash-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("after kill -9 every acknowledged task is there, and one that was running is FAILED with the reason", async () => {
  const args = ["examples/main.ts", "--port", "0", "--journal", `sqlite:${join(folder, "tasks.db")}`];
  const first = await nuncioServe(...args);
  const hello = await connect(first.url);
  const slow = await connect(`${first.url}/agents/slow`);
  const trip = await connect(`${first.url}/agents/trip`);
  const acknowledged: string[] = [];
  const running = await slow.send("600", { returnImmediately: true });
  const parked = await trip.send("A weekend");
  const sending = Promise.all(
    Array.from({ length: 8 }, async () => {
      for (;;) acknowledged.push((await hello.send("Ada")).task?.id ?? "");
    }),
  ).catch(() => {});
  while (acknowledged.length < 100) await new Promise((resolve) => setImmediate(resolve));
  expect(await first.stop("SIGKILL")).toBe("SIGKILL");
  await sending;

  const second = await nuncioServe(...args);
  try {
    const again = await connect(second.url);
    for (const id of acknowledged) expect((await again.get(id)).status?.state).toBe(TaskState.COMPLETED);
    const failed = await untilEnded(`${second.url}/agents/slow`, running.task?.id ?? "");
    expect([failed.status?.state, JSON.stringify(failed.status?.message?.parts)]).toEqual([
      TaskState.FAILED,
      expect.stringContaining("The server stopped while the agent worked"),
    ]);
    const tripAgain = await connect(`${second.url}/agents/trip`);
    expect((await tripAgain.send("Rome", { taskId: parked.task?.id })).text).toBe("How many nights in Rome?");
  } finally {
    expect(await second.stop("SIGTERM")).toBe(0);
  }
});

async function untilEnded(url: string, id: string) {
  const peer = await connect(url);
  try {
    for await (const { task } of peer.subscribe(id, { after: "1" }))
      if (task?.status?.state === TaskState.FAILED) return task;
  } catch {
    // it had ended before we asked
  }
  return peer.get(id);
}
