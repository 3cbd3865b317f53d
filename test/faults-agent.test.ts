import {
  type Agent,
  type AgentDefinition,
  agent,
  contentOf,
  type MessageView,
  type Run,
  serve,
  type TaskContext,
} from "nuncio";
import { CallError, connect, TaskState } from "nuncio/client";
import { expect, test } from "vitest";
import { silentLogger } from "../src/runtime/logger.js";
import { type FaultPoint, systemRuntime } from "../src/runtime/runtime.js";

const quiet = { port: 0, journal: "memory:", drainMs: 1_000 } as const;

/** An agent with a run that TypeScript wouldn't let through. */
function careless(run: (task: TaskContext) => unknown): Agent {
  return agent({ name: "Careless", description: "Makes a mistake", run: run as NonNullable<AgentDefinition["run"]> });
}

/** How the first task of an agent ends, and what its operator reads. */
async function firstTask(served: Agent) {
  const errors: string[] = [];
  const error = ({ err }: { err?: unknown }) => void errors.push(err instanceof Error ? err.message : String(err));
  await using server = await serve(served, { ...quiet, logger: { ...silentLogger, error } });
  await using peer = await connect(server.url);
  const failed = await peer.send("x", { timeoutMs: 5_000 }).catch((thrown: unknown) => thrown);
  return { state: failed instanceof CallError ? failed.task?.status?.state : failed, errors };
}

const mistakes: [string, (task: TaskContext) => unknown, RegExp][] = [
  ["an async function", async () => "x", /write async \*run/],
  ["an async function that throws", async () => Promise.reject(new Error("no")), /write async \*run/],
  [
    "a generator that isn't async",
    function* (task) {
      yield task.working();
    },
    /write async \*run/,
  ],
  [
    "an iterator that gives nothing readable",
    () => {
      const next = async () => undefined;
      return { next, throw: next, return: () => undefined, [Symbol.asyncIterator]: () => undefined };
    },
    /undefined/,
  ],
  [
    "metadata with a cycle",
    async function* (task) {
      const loop: Record<string, never> = {};
      yield task.artifact("x", { metadata: Object.assign(loop, { loop }) });
    },
    /metadata\.loop is a cycle/,
  ],
  [
    "a part without content",
    async function* (task) {
      yield task.artifact({ $typeName: "lf.a2a.v1.Part" } as never);
    },
    /content isn't a valid part/,
  ],
  [
    "a part whose data is no Value",
    async function* (task) {
      const content = { case: "data", value: { n: 1 } };
      yield task.artifact({ $typeName: "lf.a2a.v1.Part", content, filename: "", mediaType: "" } as never);
    },
    /content isn't a valid part/,
  ],
  [
    "an artifact without an id",
    async function* (task) {
      yield task.artifact("x", { artifactId: "" });
    },
    /artifactId is empty/,
  ],
];

test.each(mistakes)("a task whose agent runs %s ends FAILED, and the log says why", async (_what, run, why) => {
  const { state, errors } = await firstTask(careless(run));
  expect(state).toBe(TaskState.FAILED);
  expect(errors.join()).toMatch(why);
});

test("what an agent does with a buffer, or with metadata, after it was yielded changes nothing", async () => {
  const reuses = agent({
    name: "Reuses",
    description: "Reads into one buffer",
    async *run(task): Run {
      const buffer = new Uint8Array(1);
      const metadata = { n: 0 };
      const part = { ...textPart("0") };
      for (let n = 1; n <= 3; n++) {
        buffer[0] = n;
        metadata.n = n;
        part.content.value = String(n);
        yield task.artifact([{ raw: buffer }, part], { metadata });
      }
      buffer[0] = 9;
      part.content.value = "9";
      metadata.n = 9;
    },
  });
  await using server = await serve(reuses, { ...quiet, logger: silentLogger });
  await using peer = await connect(server.url);
  const { task } = await peer.send("x");
  expect(task?.artifacts.map(({ parts, metadata }) => [parts.map(({ content }) => content.value), metadata])).toEqual(
    [1, 2, 3].map((n) => [[new Uint8Array([n]), String(n)], { n }]),
  );
});

/** Does to a message what only its owner may. */
function deface({ message }: MessageView): void {
  message.messageId = "defaced";
  message.metadata = { ...message.metadata, defaced: true };
  for (const part of message.parts) part.content = { case: "text", value: "defaced" };
}

test("what an agent does to what it was given changes nothing that others read", async () => {
  const careless = agent({
    name: "Careless",
    description: "Takes what it is given for its own",
    async *run(task): Run {
      for (const one of task.history) deface(one);
      for (const artifact of task.artifacts) artifact.name = "defaced";
      for (const other of [...(await task.references()), ...(await task.earlier())]) {
        other.id = "defaced";
        for (const artifact of other.artifacts) artifact.name = "defaced";
      }
      if (task.history.length > 1) return;
      yield task.artifact("made", { name: "kept" });
      return task.inputRequired("what next?");
    },
  });
  await using server = await serve(careless, { ...quiet, logger: silentLogger });
  await using peer = await connect(server.url);
  const first = (await peer.send("one")).task;
  const second = (await peer.send("two", { taskId: first?.id })).task;
  await peer.send("three", { contextId: first?.contextId, referenceTaskIds: [first?.id ?? ""] });
  const seen = await peer.get(first?.id ?? "", { historyLength: 9 });
  expect(second?.status?.state).toBe(TaskState.COMPLETED);
  expect(seen.history.map((message) => contentOf(message).text)).toEqual(["one", "what next?", "two"]);
  expect([seen.id, seen.artifacts.map(({ name }) => name)]).toEqual([first?.id, ["kept"]]);
  expect(JSON.stringify(seen.history)).not.toContain("defaced");
});

test("what a direct reply does to its input isn't in the task that it wants", async () => {
  const careless = agent({
    name: "Careless",
    description: "Takes its input for its own",
    async reply(input) {
      deface(input);
      return undefined;
    },
    async *run(task) {
      yield task.artifact(task.input.text);
    },
  });
  await using server = await serve(careless, { ...quiet, logger: silentLogger });
  await using peer = await connect(server.url);
  const { task, text } = await peer.send("x");
  expect(text).toBe("x");
  expect(JSON.stringify(task?.history)).not.toContain("defaced");
});

function textPart(value: string) {
  return {
    $typeName: "lf.a2a.v1.Part" as const,
    content: { case: "text" as const, value },
    filename: "",
    mediaType: "",
  };
}

test("a task whose ending couldn't be recorded ends FAILED when it can, instead of working for ever", async () => {
  let broken = true;
  const at = (point: FaultPoint) => {
    if (point === "turn.before-end" && broken) throw new Error("the ending is lost");
    broken &&= point !== "turn.before-end";
  };
  const says = agent({
    name: "Says",
    description: "Says x",
    async *run(task) {
      yield task.artifact("x");
    },
  });
  const options = { ...quiet, logger: silentLogger, runtime: { ...systemRuntime, at } };
  await using server = await serve(says, options);
  await using peer = await connect(server.url);
  await expect(peer.send("y", { timeoutMs: 5_000 })).rejects.toMatchObject({
    message: "What the agent did could not be recorded",
    task: { status: { state: TaskState.FAILED } },
  });
});
