import { agent, type ServeOptions, serve } from "nuncio";
import { CallError, connect, type Peer, TaskState } from "nuncio/client";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TaskStream } from "../src/client/task-stream.js";
import { BINDINGS, quiet } from "./support/small-agents.js";

type Binding = (typeof BINDINGS)[number];

/** An agent that writes "x", and is done once it is let go; asked to "ask", it asks instead. */
async function start(binding: Binding, options: ServeOptions = {}) {
  let finish = (): void => {};
  const letGo = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const slow = agent({
    name: "Slow",
    description: "Takes its time",
    async *run(task) {
      if (task.input.text === "ask") return task.inputRequired("Where?");
      yield task.artifact("x");
      await letGo;
      return task.completed("fin");
    },
  });
  const server = await serve(slow, { ...quiet, drainMs: 3_000, ...options });
  const peer = await connect(server.url, { bindings: [binding] });
  onTestFinished(async () => {
    finish();
    await peer[Symbol.asyncDispose]();
    await server.close();
  });
  return { server, peer, finish };
}

/** Reads until `reached`, then does `act`, and reads on. Gives what was read, and what the end threw. */
async function readOn(stream: TaskStream, reached: (text: string, state?: TaskState) => boolean, act: () => void) {
  const read: { text: string; position: string | undefined; taskId: string | undefined }[] = [];
  try {
    for await (const { text, position, task, state } of stream) {
      read.push({ text, position, taskId: task?.id });
      if (reached(text, state)) act();
    }
  } catch (error) {
    return { read, error };
  }
  return { read, error: undefined };
}

const failureOf = (reading: Promise<unknown>): Promise<unknown> =>
  reading.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  );

/** Once the task has written. */
async function written(peer: Peer): Promise<string> {
  for await (const { text, task } of peer.stream("q")) if (text === "x") return task?.id ?? "";
  throw new Error("It wrote nothing");
}

const wroteX = (text: string): boolean => text === "x";
const cut = {
  reason: "UNAVAILABLE",
  outcome: "unknown",
  message: expect.stringMatching(
    /^The stream ended before its task did; go on with subscribe\(".+", \{ after: "\d+" \}\)/,
  ),
  metadata: { taskId: expect.stringMatching(/./), position: expect.stringMatching(/^\d+$/) },
};

describe.each(BINDINGS)("a stream that the server's shutdown cuts, over %s", (binding) => {
  test.each([false, true])("fails at its end, with what to go on from (returnImmediately: %s)", async (immediately) => {
    const { server, peer } = await start(binding);
    const stream = peer.stream("q", { returnImmediately: immediately });
    const { read, error } = await readOn(stream, wroteX, () => void server.close());
    expect(read.at(-1)?.text).toBe("x");
    expect(error).toBeInstanceOf(CallError);
    const { taskId, position } = read.at(-1) ?? {};
    expect(error).toMatchObject({ ...cut, metadata: { taskId, position } });
  });

  test("is no reply, and no whole text", async () => {
    const { server, peer } = await start(binding);
    const reply = failureOf(peer.stream("q").reply());
    const texts: string[] = [];
    const text = (async () => {
      for await (const one of peer.stream("q").text) texts.push(one);
    })();
    const failedText = failureOf(text);
    await expect.poll(async () => (await listed(peer)).map(textsOf).join()).toBe("x,x");
    await expect.poll(() => texts).toEqual(["x"]);
    void server.close();
    expect(await reply).toMatchObject(cut);
    expect(await failedText).toMatchObject(cut);
    expect(texts).toEqual(["x"]);
  });

  test("fails for a subscriber too", async () => {
    const { server, peer } = await start(binding);
    const id = await written(peer);
    const { error } = await readOn(
      peer.subscribe(id),
      () => true,
      () => void server.close(),
    );
    expect(error).toMatchObject({ ...cut, metadata: { taskId: id, position: expect.any(String) } });
  });

  test("has ended where the task waits for its caller", async () => {
    const { server, peer } = await start(binding, { streamAtInputRequired: "keep" });
    const asks = (_text: string, state?: TaskState): boolean => state === TaskState.INPUT_REQUIRED;
    expect((await readOn(peer.stream("ask"), asks, () => void server.close())).error).toBeUndefined();
  });
});

describe.each(BINDINGS)("is no cut stream over %s:", (binding) => {
  test("one that is aborted: it rejects with the signal's reason", async () => {
    const { peer } = await start(binding);
    const controller = new AbortController();
    const enough = new Error("enough");
    const { error } = await readOn(peer.stream("q", { signal: controller.signal }), wroteX, () => {
      controller.abort(enough);
    });
    expect(error).toBe(enough);
  });

  test("one that takes too long", async () => {
    const { peer } = await start(binding);
    const error = await failureOf(peer.stream("q", { timeoutMs: 300 }).reply());
    expect(error).toMatchObject({ outcome: "unknown", message: "No answer within 300 ms" });
  });

  test("one that its reader leaves, one of a task that ends, one of a task that asks", async () => {
    const { peer, finish } = await start(binding);
    const id = await written(peer);
    const { read, error } = await readOn(peer.subscribe(id), () => true, finish);
    expect([error, read.at(-1)?.text]).toEqual([undefined, "fin"]);
    expect(await peer.stream("ask").reply()).toMatchObject({ state: TaskState.INPUT_REQUIRED, text: "Where?" });
  });
});

async function listed(peer: Peer) {
  const tasks = [];
  for await (const one of peer.list({ includeArtifacts: true })) tasks.push(one);
  return tasks;
}

const textsOf = ({ artifacts }: Awaited<ReturnType<typeof listed>>[number]): string =>
  artifacts.flatMap(({ parts }) => parts.map(({ content }) => content.value)).join();
