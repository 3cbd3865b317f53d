import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { A2AError, agent, around, type Decorator, extension, serve } from "nuncio";
import { CallError, connect, TaskState } from "nuncio/client";
import { describe, expect, test, vi } from "vitest";
import { type FaultPoint, systemRuntime } from "../src/runtime/runtime.js";
import { collect } from "./contract/messages.js";
import { BINDINGS, quiet, says } from "./support/small-agents.js";

describe("what an agent offers", () => {
  const strict = extension({ uri: "https://x.example/strict", description: "Must be there", required: true });

  test.each(BINDINGS)("a required extension is asked for on every operation over %s", async (binding) => {
    const guarded = agent({ name: "G", description: "G", extensions: [strict], reply: ({ text }) => text });
    await using server = await serve(guarded, quiet);
    await using without = await connect(server.url, { bindings: [binding] });
    await expect(without.send("x")).rejects.toMatchObject({ reason: "EXTENSION_SUPPORT_REQUIRED" });
    await expect(without.get("x")).rejects.toMatchObject({ reason: "EXTENSION_SUPPORT_REQUIRED" });
    await expect(without.stream("x").reply()).rejects.toMatchObject({ reason: "EXTENSION_SUPPORT_REQUIRED" });
    await using having = await connect(server.url, { bindings: [binding], extensions: [strict] });
    expect((await having.send("x")).text).toBe("x");
  });

  test.each(BINDINGS)("a stream is resumed after the position of any of its events over %s", async (binding) => {
    await using server = await serve(says("A"), quiet);
    await using peer = await connect(server.url, { bindings: [binding] });
    const events = await collect(peer.stream("x"));
    expect(events.map(({ position }) => position)).toEqual(["2", "3", "4"]);
    const again = await collect(peer.subscribe(events[0]?.task?.id ?? "", { after: events[1]?.position }));
    expect(again.map(({ payload, position }) => [payload.case, position])).toEqual([
      ["task", "3"],
      ["statusUpdate", "4"],
    ]);
  });

  test("who activates the extension finds positions in the events' metadata; nobody else does", async () => {
    await using server = await serve(says("A"), quiet);
    await using peer = await connect(server.url);
    const { uri = "" } = peer.card.capabilities?.extensions.find((one) => one.uri.includes(":resume:")) ?? {};
    const metadata = async (extensions: string[]) =>
      (await collect(peer.stream("x", { extensions }))).map(({ payload }) => payload.value?.metadata);
    expect(await metadata([uri])).toEqual(["2", "3", "4"].map((position) => ({ [uri]: position })));
    expect(await metadata([])).toEqual([undefined, undefined, undefined]);
  });

  test("what HTTP+JSON answers is kept by no cache", async () => {
    await using server = await serve(says("A"), quiet);
    const response = await fetch(`${server.url}/a2a/tasks`, { headers: { "a2a-version": "1.0" } });
    expect(response.headers.get("cache-control")).toBe("private, no-store");
  });

  test("an agent that doesn't stream says so on its card, and refuses", async () => {
    const plain = agent({ name: "P", description: "P", capabilities: { streaming: false }, reply: () => "x" });
    await using server = await serve(plain, quiet);
    await using peer = await connect(server.url);
    expect(peer.card.capabilities?.streaming).toBe(false);
    await expect(peer.stream("x").reply()).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    await expect(peer.subscribe("x").reply()).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
  });

  test("the extended card: not offered, not for strangers, or given", async () => {
    await using none = await serve(says("A"), quiet);
    await expect((await connect(none.url)).extendedCard()).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    await using some = await serve(says("A"), {
      ...quiet,
      extendedCard: (_principal, card) => ({ ...card, description: "more" }),
    });
    await expect((await connect(some.url)).extendedCard()).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    await using open = await serve(says("A"), {
      ...quiet,
      extendedCard: { card: (_principal, card) => ({ ...card, description: "more" }), anonymous: true },
    });
    expect((await (await connect(open.url)).extendedCard()).description).toBe("more");
  });

  test("operations written by hand: messages or ProtoJSON, the rest is UnsupportedOperation", async () => {
    const clock = agent({
      name: "Clock",
      description: "Tells the time",
      handler: {
        sendMessage: ({ message }) => ({
          message: { messageId: `re-${message?.messageId}`, role: "ROLE_AGENT", parts: [{ text: "noon" }] },
        }),
        async *sendStreamingMessage({ message }) {
          yield { message: { messageId: `re-${message?.messageId}`, role: "ROLE_AGENT", parts: [{ text: "tick" }] } };
        },
        getTask({ id }) {
          throw new A2AError("TASK_NOT_FOUND", `There is no task ${id}`);
        },
      },
    });
    await using server = await serve(clock, quiet);
    await using peer = await connect(server.url);
    expect((await peer.send("x")).text).toBe("noon");
    expect((await peer.stream("x").reply()).text).toBe("tick");
    await expect(peer.get("7")).rejects.toMatchObject({ reason: "TASK_NOT_FOUND", message: "There is no task 7" });
    await expect(peer.cancel("7")).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
  });

  test("a client is a Handler, so a proxy is an agent", async () => {
    await using inner = await serve(says("A"), quiet);
    await using upstream = await connect(inner.url);
    await using outer = await serve(
      agent({ name: "Proxy", description: "In front of A", handler: upstream.handler }),
      quiet,
    );
    await using peer = await connect(outer.url);
    expect((await peer.send("x")).text).toBe("A: x");
    expect((await peer.stream("y").reply()).text).toBe("A: y");
  });
});

test("decorators see every call, outermost first, and a stream until its end", async () => {
  const seen: string[] = [];
  const timed = around(async (operation, call, next) => {
    seen.push(`${operation} by ${call.principal?.id}`);
    await next();
    seen.push(`${operation} done`);
  });
  const shouting: Decorator = (next) => ({
    ...next,
    sendMessage: async (request, call) => {
      seen.push("inner");
      return next.sendMessage(request, call);
    },
  });
  await using server = await serve(says("A"), { ...quiet, use: [timed, shouting] });
  await using peer = await connect(server.url);
  await peer.send("x");
  await peer.stream("x").reply();
  expect(seen).toEqual([
    "sendMessage by anonymous",
    "inner",
    "sendMessage done",
    "sendStreamingMessage by anonymous",
    "sendStreamingMessage done",
  ]);
});

describe("closing", () => {
  test("lets what runs end, and answers who waits; then nothing is left to keep the process", async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const patient = agent({
      name: "Patient",
      description: "Waits",
      async *run(task) {
        yield task.working("waiting");
        await finished;
        yield task.artifact("done");
      },
    });
    const server = await serve(patient, quiet);
    await using peer = await connect(server.url);
    const reply = peer.send("x");
    await vi.waitFor(async () => {
      for await (const one of peer.list()) expect(one.status?.state).toBe(TaskState.WORKING);
    });
    const closing = server.close();
    finish();
    expect((await reply).text).toBe("done");
    await closing;
    await expect(connect(server.url)).rejects.toSatisfy(
      (error) => error instanceof CallError && error.outcome === "not-sent",
    );
  });

  test("a run that doesn't end in time is FAILED, and who waits is told", async () => {
    const endless = agent({
      name: "Endless",
      description: "Waits",
      async *run(task) {
        yield task.working("waiting");
        await new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason)));
      },
    });
    const server = await serve(endless, { ...quiet, drainMs: 300 });
    await using peer = await connect(server.url);
    const reply = peer.send("x").then(
      () => "answered",
      (error: CallError) => `${error.outcome}: ${error.message}`,
    );
    await vi.waitFor(async () => {
      let tasks = 0;
      for await (const _ of peer.list()) tasks += 1;
      expect(tasks).toBe(1);
    });
    await server.close();
    expect(await reply).toBe("done: The server was shut down while the agent worked on this task");
  });

  test("closes the journal even if the host can't be drained, and says why it couldn't", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nuncio-serve-"));
    const file = join(folder, "tasks.db");
    let broken = true;
    const at = (point: FaultPoint) => {
      if (point !== "drain" || !broken) return;
      broken = false;
      throw new Error("the host is stuck");
    };
    const server = await serve(says("A"), {
      ...quiet,
      journal: `sqlite:${file}`,
      runtime: { ...systemRuntime, at },
    });
    expect(existsSync(`${file}-wal`)).toBe(true);
    await expect(server.close()).rejects.toThrow("the host is stuck");
    expect(existsSync(`${file}-wal`)).toBe(false); // SQLite removes it with the last connection
    rmSync(folder, { recursive: true });
  });
});

test("a journal that can't be opened, or a port that is taken, is an error in one line, and nothing is left open", async () => {
  await expect(serve(says("A"), { ...quiet, journal: "sqlite:/nowhere/at/all.db" })).rejects.toThrow(/nowhere/);
  await using server = await serve(says("A"), quiet);
  await expect(serve(says("A"), { ...quiet, port: Number(new URL(server.url).port) })).rejects.toMatchObject({
    code: "EADDRINUSE",
    message: `${new URL(server.url).host} is taken; choose another port, or port: 0 for a free one`,
    cause: { code: "EADDRINUSE", syscall: "listen" },
  });
});

test.each([
  ["abc", '"abc"'],
  [99_999, "99999"],
  [-1, "-1"],
  [8080.5, "8080.5"],
  [Number.NaN, "NaN"],
  [null, "null"],
])("%s is no port, and serve says so", async (port, said) => {
  await expect(serve(says("A"), { ...quiet, port: port as number })).rejects.toThrow(
    new TypeError(`port must be a whole number from 0 to 65535, not ${said}`),
  );
});

test.each(["localhost:8090", "agents.example", "ftp://agents.example/", ""])(
  "connect says that %j isn't the URL of an agent",
  async (target) => {
    await expect(connect(target)).rejects.toMatchObject({
      name: "CallError",
      outcome: "not-sent",
      message: `${JSON.stringify(target)} isn't the URL of an agent: it begins with http:// or https://`,
    });
  },
);

test("a message may wait for room: the task is SUBMITTED until then", async () => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const one = agent({
    name: "One",
    description: "One at a time",
    async *run(task) {
      if (task.input.text === "first") await finished;
      yield task.artifact(task.input.text);
    },
  });
  await using server = await serve(one, { ...quiet, limits: { runningTasks: 1 } });
  await using peer = await connect(server.url);
  const first = await peer.send("first", { returnImmediately: true });
  const second = await peer.send("second", { returnImmediately: true });
  expect([first.state, second.state]).toEqual([TaskState.WORKING, TaskState.SUBMITTED]);
  finish();
  expect((await peer.subscribe(second.task?.id ?? "", { after: "1" }).reply()).text).toBe("second");
});
