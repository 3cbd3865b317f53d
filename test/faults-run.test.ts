import { agent, serve } from "nuncio";
import { connect, TaskState } from "nuncio/client";
import { expect, test } from "vitest";
import type { AppendRequest, Journal } from "../src/journal/journal.js";
import { openSqlJournal } from "../src/journal/open.js";
import { silentLogger } from "../src/runtime/logger.js";
import { pause } from "../src/runtime/pause.js";
import { systemRuntime } from "../src/runtime/runtime.js";
import { quiet } from "./support/small-agents.js";

/** The journal, whose first append of an artifact takes a while and then fails for good. */
function failingOnce(journal: Journal): Journal {
  let broken = true;
  const append = async (request: AppendRequest) => {
    if (!broken || request.events[0]?.kind?.case !== "artifactUpdated") return journal.append(request);
    broken = false;
    await pause(systemRuntime, 50);
    throw new Error("the artifact is lost");
  };
  return new Proxy(journal, {
    get: (target, name) => {
      if (name === "append") return append;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("a task whose artifact couldn't be recorded ends FAILED, though its run ended well meanwhile", async () => {
  const journal = await openSqlJournal({ target: "memory:", runtime: systemRuntime, logger: silentLogger });
  const says = agent({
    name: "Says",
    description: "Says x, and is done while that is being recorded",
    async *run(task) {
      yield task.artifact("x");
      await pause(systemRuntime, 5);
    },
  });
  {
    await using server = await serve(says, { ...quiet, journal: failingOnce(journal) });
    await using peer = await connect(server.url);
    const { task } = await peer.send("y", { returnImmediately: true });
    const state = async () => (await peer.get(task?.id ?? "")).status?.state;
    await expect.poll(state, { timeout: 5_000 }).toBe(TaskState.FAILED);
  }
  await journal.close();
});

test("a cancel isn't held up by a stream whose source hangs", async () => {
  const hangs = agent({
    name: "Hangs",
    description: "Says one word, and waits for the next for ever",
    async *run(task) {
      async function* words() {
        yield "one";
        await new Promise(() => {});
      }
      yield* task.stream(words());
    },
  });
  await using server = await serve(hangs, { ...quiet, cancelGraceMs: 60_000 });
  await using peer = await connect(server.url);
  const { task } = await peer.send("x", { returnImmediately: true });
  const id = task?.id ?? "";
  await expect.poll(async () => (await peer.get(id)).artifacts.length).toBe(1);
  const canceled = await peer.cancel(id);
  expect(canceled.status?.state).toBe(TaskState.CANCELED);
  expect(canceled.status?.message).toBeUndefined(); // the run itself has ended
});
