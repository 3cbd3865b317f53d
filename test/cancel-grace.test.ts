import { type Server, serve } from "nuncio";
import { connect, TaskState } from "nuncio/client";
import { afterEach, expect, test } from "vitest";
import { silentLogger } from "../src/runtime/logger.js";
import { type Runtime, systemRuntime, type Timer } from "../src/runtime/runtime.js";
import { scripted } from "./support/scripted-agent.js";

const GRACE_MS = 54_321;

/** Timers of the grace time are fired by the test alone. */
function createGraceClock() {
  const pending = new Map<Timer, () => void>();
  const runtime: Runtime = {
    ...systemRuntime,
    after(delayMs, act) {
      if (delayMs !== GRACE_MS) return systemRuntime.after(delayMs, act);
      const timer: Timer = { cancel: () => void pending.delete(timer) };
      pending.set(timer, act);
      return timer;
    },
  };
  return { runtime, pending };
}

let server: Server | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start() {
  const { runtime, pending } = createGraceClock();
  const errors: object[] = [];
  const logger = { ...silentLogger, error: (details: object) => void errors.push(details) };
  const options = { runtime, logger, cancelGraceMs: GRACE_MS, drainMs: 1_000 };
  server = await serve(scripted, { port: 0, journal: "memory:", ...options });
  const peer = await connect(server.url);
  return { server, peer, pending, errors };
}

test("a cancel that the agent obeys leaves no timer behind", async () => {
  const { peer, pending } = await start();
  const { task } = await peer.send("until-canceled", { returnImmediately: true });
  await peer.cancel(task?.id ?? "");
  expect(pending.size).toBe(0);
});

test("a server that closes doesn't wait for a cancel's grace: its task ends CANCELED, who waits is told, and nothing is left to fail", async () => {
  const { server, peer, pending, errors } = await start();
  const { task } = await peer.send("stubborn for-ever", { returnImmediately: true });
  const canceling = peer.cancel(task?.id ?? "");
  await expect.poll(() => pending.size).toBe(1);
  const acts = [...pending.values()];
  await server.close();
  expect((await canceling).status?.state).toBe(TaskState.CANCELED);
  for (const act of acts) act();
  await new Promise(setImmediate);
  expect(errors).toEqual([]);
});
