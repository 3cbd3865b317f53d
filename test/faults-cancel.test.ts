import { agent, serve } from "nuncio";
import { connect, TaskState } from "nuncio/client";
import { expect, test } from "vitest";
import type { AppendRequest, Journal } from "../src/journal/journal.js";
import { openSqlJournal } from "../src/journal/open.js";
import { silentLogger } from "../src/runtime/logger.js";
import { systemRuntime } from "../src/runtime/runtime.js";
import { quiet } from "./support/small-agents.js";

const asks = agent({
  name: "Asks",
  description: "Asks back when it is let go",
  async *run(task) {
    yield task.working();
    await letGo;
    return task.inputRequired("What?");
  },
});
let letGo = Promise.resolve();

/** The journal, where the two appends of a race come in the order that the test wants. */
function racing(journal: Journal, order: "ending first" | "cancel first") {
  let arrived: () => void = () => {};
  /** The one that comes second has been decided upon, and waits. */
  const waiting = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let passed: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    passed = resolve;
  });
  const isCancel = ({ events }: AppendRequest) => events.some(({ kind }) => kind?.case === "cancelRequested");
  const isEnding = ({ release }: AppendRequest) => release === true;
  const [isFirst, isSecond] = order === "ending first" ? [isEnding, isCancel] : [isCancel, isEnding];
  const append = async (request: AppendRequest) => {
    if (isSecond(request)) {
      arrived();
      await first;
    }
    const result = await journal.append(request);
    if (isFirst(request)) passed();
    return result;
  };
  const raced = new Proxy(journal, {
    get: (target, name) => {
      if (name === "append") return append;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { journal: raced, waiting };
}

test.each(["ending first", "cancel first"] as const)(
  "a cancel that meets the end of a turn ends the task at once, and a follow-up can't be killed by it (%s)",
  async (order) => {
    const journal = await openSqlJournal({ target: "memory:", runtime: systemRuntime, logger: silentLogger });
    {
      const race = racing(journal, order);
      await using server = await serve(asks, { ...quiet, journal: race.journal, cancelGraceMs: 60_000 });
      await using peer = await connect(server.url);
      let go: () => void = () => {};
      letGo = new Promise((resolve) => {
        go = resolve;
      });
      const { task } = await peer.send("x", { returnImmediately: true });
      const id = task?.id ?? "";
      await expect.poll(async () => (await peer.get(id)).status?.state).toBe(TaskState.WORKING);
      const canceling = peer.cancel(id);
      if (order === "ending first") await race.waiting;
      go();
      const { status } = await canceling;
      expect(status?.state).toBe(TaskState.CANCELED);
      expect(status?.message).toBeUndefined(); // "the agent didn't confirm" would be untrue
      await expect(peer.send("y", { taskId: id })).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    }
    await journal.close();
  },
);
