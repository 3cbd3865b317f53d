import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, serve } from "nuncio";
import { connect, TaskState } from "nuncio/client";
import { afterAll, expect, test } from "vitest";
import { openSqlJournal } from "../src/journal/open.js";
import { silentLogger } from "../src/runtime/logger.js";
import { pause } from "../src/runtime/pause.js";
import { type FaultPoint, type Runtime, systemRuntime } from "../src/runtime/runtime.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-worker-"));
afterAll(() => rmSync(folder, { recursive: true }));
const quiet = { port: 0, journal: "memory:", logger: silentLogger } as const;

/** Works until it is let go, and knows how many do so at once. */
function createWorkplace(name: string) {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const workplace = { runs: 0, at: 0, most: 0, release, agent: agent({ name, description: "Works", run }) };
  async function* run(task: Parameters<NonNullable<Parameters<typeof agent>[0]["run"]>>[0]) {
    workplace.runs++;
    workplace.most = Math.max(workplace.most, ++workplace.at);
    await released;
    workplace.at--;
    yield task.artifact(name);
  }
  return workplace;
}

test("thirty messages that come at once over one connection don't run more agents than limits.runningTasks", async () => {
  const workplace = createWorkplace("Works");
  await using server = await serve(workplace.agent, { ...quiet, limits: { runningTasks: 2 } });
  await using peer = await connect(server.url, { bindings: ["grpc"] });
  const sent = await Promise.all(Array.from({ length: 30 }, () => peer.send("x", { returnImmediately: true })));
  expect(workplace.most).toBe(2);
  workplace.release();
  for (const { task } of sent)
    await expect.poll(async () => (await peer.get(task?.id ?? "")).status?.state).toBe(TaskState.COMPLETED);
  expect(workplace.most).toBe(2);
});

test("a waiting task isn't taken by another server on the same journal that doesn't serve its agent", async () => {
  const journal = `sqlite:${join(folder, "shared.db")}`;
  const [ours, theirs] = [createWorkplace("Ours"), createWorkplace("Theirs")];
  const both = { a: ours.agent, b: ours.agent };
  await using server = await serve({ agents: both }, { ...quiet, journal, limits: { runningTasks: 1 } });
  await using peer = await connect(server.url);
  const [, waits] = [
    await peer.send("1", { returnImmediately: true }),
    await peer.send("2", { returnImmediately: true }),
  ];
  await using other = await serve({ agents: { c: theirs.agent, d: theirs.agent } }, { ...quiet, journal });
  await using elsewhere = await connect(other.url);
  theirs.release();
  await elsewhere.send("x"); // it has looked for work by now: that is the first thing that a server does
  ours.release();
  await expect.poll(async () => (await peer.get(waits.task?.id ?? "")).status?.state).toBe(TaskState.COMPLETED);
});

test("close() ends in time while the journal takes nothing of what a run says", async () => {
  let full = false;
  const at = (point: FaultPoint) => {
    if (full && point === "append.before-commit") throw new Error("the disk is full");
  };
  const says = agent({
    name: "Says",
    description: "Says something when the disk is full",
    async *run(task) {
      full = true;
      yield task.artifact("x");
    },
  });
  const server = await serve(says, { ...quiet, drainMs: 500, runtime: { ...systemRuntime, at } });
  await using peer = await connect(server.url);
  await peer.send("x", { returnImmediately: true });
  await expect.poll(() => full).toBe(true);
  const began = performance.now();
  await server.close();
  expect(performance.now() - began).toBeLessThan(2_000);
});

/** A journal whose database takes its time to give a task away: until it is let go. */
async function createSlowJournal(slow: "claim" | "append") {
  const journal = await openSqlJournal({ target: "memory:", runtime: systemRuntime, logger: silentLogger });
  const { leases } = journal;
  const [append, claim] = [journal.append.bind(journal), leases.claim];
  const waits = { begun: false, release: (): void => {}, journal };
  const released = new Promise<void>((resolve) => {
    waits.release = resolve;
  });
  const wait = async (): Promise<void> => {
    waits.begun = true;
    await released;
  };
  if (slow === "append") {
    journal.append = async (request) => {
      if (request.take === undefined) return append(request);
      leases.taking++;
      await wait();
      return append(request).finally(() => leases.taking--);
    };
  } else {
    leases.claim = async (...options) => {
      const claimed = await claim(...options);
      if (claimed.length > 0) await wait();
      return claimed;
    };
  }
  return waits;
}

/** Brings a server to where the journal is about to give it a task. */
async function beginTaking(slow: "claim" | "append", drainMs: number) {
  const [workplace, waits] = [createWorkplace("Works"), await createSlowJournal(slow)];
  const { journal } = waits;
  const server = await serve(workplace.agent, { ...quiet, journal, drainMs, limits: { runningTasks: 1 } });
  const peer = await connect(server.url);
  const send = () => peer.send("x", { returnImmediately: true }).catch(() => undefined);
  if (slow === "claim") {
    await send();
    await send();
    workplace.release();
  } else void send();
  await expect.poll(() => waits.begun).toBe(true);
  const states = async () =>
    (await journal.list({ tenant: "", owner: "anonymous" }, { limit: 9 })).heads.map(({ state }) => state);
  return { workplace, waits, server, states };
}

test.each(["claim", "append"] as const)("close() waits for a task that is being taken by %s", async (slow) => {
  const { workplace, waits, server, states } = await beginTaking(slow, 10_000);
  const closing = server.close();
  systemRuntime.after(50, waits.release);
  systemRuntime.after(1_000, workplace.release);
  await closing;
  expect(new Set(await states())).toEqual(new Set([TaskState.COMPLETED]));
  await waits.journal.close();
});

test.each(["claim", "append"] as const)("no run begins after close(), whatever %s gives then", async (slow) => {
  const { workplace, waits, server, states } = await beginTaking(slow, 100);
  await server.close();
  waits.release();
  await expect.poll(states).toContain(TaskState.WORKING);
  await pause(systemRuntime, 20);
  expect(workplace.runs).toBe(slow === "claim" ? 1 : 0);
  await waits.journal.close();
});

test("close() leaves no timer behind", async () => {
  const pending = new Set<object>();
  const after: Runtime["after"] = (delayMs, act, options) => {
    const id = {};
    pending.add(id);
    const timer = systemRuntime.after(
      delayMs,
      () => {
        pending.delete(id);
        act();
      },
      options,
    );
    return {
      cancel() {
        pending.delete(id);
        timer.cancel();
      },
    };
  };
  const server = await serve(createWorkplace("Works").agent, { ...quiet, runtime: { ...systemRuntime, after } });
  await server.close();
  expect(pending.size).toBe(0);
});
