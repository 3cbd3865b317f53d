import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { contentOf } from "../src/a2a/content.js";
import { A2AError } from "../src/a2a/errors.js";
import { setPosition } from "../src/a2a/position.js";
import { type StreamResponse, StreamResponseSchema, type Task, TaskState } from "../src/a2a/types.js";
import { CallError } from "../src/client/outcome.js";
import { createTaskStream } from "../src/client/task-stream.js";

const working = create(StreamResponseSchema, {
  payload: { case: "task", value: { id: "t", contextId: "c", status: { state: TaskState.WORKING } } },
});
const chunk = (text: string, append = true): StreamResponse =>
  create(StreamResponseSchema, {
    payload: {
      case: "artifactUpdate",
      value: {
        taskId: "t",
        append,
        artifact: { artifactId: "a", parts: [{ content: { case: "text", value: text } }] },
      },
    },
  });
const become = (state: TaskState): StreamResponse =>
  create(StreamResponseSchema, { payload: { case: "statusUpdate", value: { taskId: "t", status: { state } } } });

function streaming(responses: readonly StreamResponse[]) {
  return createTaskStream(async function* () {
    yield* responses;
  });
}

const chunks = (count: number): StreamResponse[] => [
  working,
  ...Array.from({ length: count }, (_, index) => chunk(String(index % 10))),
  become(TaskState.COMPLETED),
];

const textOf = (task: Task | undefined): string | undefined => (task === undefined ? undefined : contentOf(task).text);

describe("a stream of very many chunks takes time by their number, not by its square", () => {
  it.each([
    ["reply()", async (stream: ReturnType<typeof streaming>) => (await stream.reply()).text.length],
    [
      "text",
      async (stream: ReturnType<typeof streaming>) => {
        let length = 0;
        for await (const text of stream.text) length += text.length;
        return length;
      },
    ],
    [
      "its events",
      async (stream: ReturnType<typeof streaming>) => {
        let length = 0;
        for await (const event of stream) length += event.state === undefined ? 0 : event.text.length;
        return length;
      },
    ],
  ])("read by %s", async (_name, read) => {
    const few = chunks(5_000);
    const many = chunks(20_000);
    const timeOf = async (responses: readonly StreamResponse[]): Promise<number> => {
      const before = performance.now();
      expect(await read(streaming(responses))).toBe(responses.length - 2);
      return performance.now() - before;
    };
    await timeOf(few); // warm
    const times = { few: Number.POSITIVE_INFINITY, many: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 3; round++) {
      times.few = Math.min(times.few, await timeOf(few));
      times.many = Math.min(times.many, await timeOf(many));
    }
    expect(times.many).toBeLessThan(10 * times.few + 50); // four times as many; by the square it would be sixteen
  });
});

describe("an event's task", () => {
  const responses = [chunk("lost"), ...chunks(100), chunk("new", false), chunk("er"), become(TaskState.FAILED)];
  const texts = responses.map((_, index) => {
    if (index === 0) return undefined;
    if (index <= 102) return "0123456789".repeat(10).slice(0, Math.min(index - 1, 100));
    return index === 102 + 1 ? "new" : "newer";
  });

  it("has what there was at that event, read one by one", async () => {
    const read: unknown[] = [];
    for await (const event of streaming(responses)) {
      expect(event.task?.status?.state).toBe(event.state);
      read.push(textOf(event.task));
    }
    expect(read).toEqual(texts);
  });

  it.each(["forwards", "backwards"])("has it still when all are looked at later, %s", async (direction) => {
    const events = [];
    for await (const event of streaming(responses)) events.push(event);
    const order = [...events.keys()];
    if (direction === "backwards") order.reverse();
    for (const index of order) expect(textOf(events[index]?.task)).toBe(texts[index]);
    for (const [index, event] of events.entries()) expect(textOf(event.task)).toBe(texts[index]);
    expect(events.map(({ state }) => state)).toEqual(events.map(({ task }) => task?.status?.state));
  });

  it("keeps the artifacts that a later snapshot leaves out", async () => {
    const { task, text } = await streaming([...chunks(3), working, become(TaskState.COMPLETED)]).reply();
    expect([text, task?.status?.state]).toEqual(["012", TaskState.COMPLETED]);
  });
});

describe("a stream that fails", () => {
  const refused = new A2AError("QUOTA_EXHAUSTED", "Enough", { metadata: { retryAfterMs: "5" } });
  const failing = (responses: readonly StreamResponse[], error: unknown) =>
    createTaskStream(async function* () {
      yield* responses;
      throw error;
    });
  const failure = (stream: ReturnType<typeof streaming>): Promise<unknown> => stream.reply().catch((error) => error);

  it("before its first event failed as any call", async () => {
    expect(await failure(failing([], refused))).toMatchObject({ outcome: "not-sent", reason: "QUOTA_EXHAUSTED" });
  });

  it("after its first event was never not-sent", async () => {
    const error = await failure(failing([working, setPosition(chunk("x"), "7")], refused));
    expect(error).toBeInstanceOf(CallError);
    expect(error).toMatchObject({
      outcome: "unknown",
      reason: "QUOTA_EXHAUSTED",
      message: "Enough",
      retryAfterMs: 5,
      metadata: { retryAfterMs: "5", taskId: "t", position: "7" },
    });
  });

  it("isn't judged twice: who was not-sent in another's hands isn't after an event, and done stays", async () => {
    const notSent = await failure(failing([], refused));
    expect(await failure(failing([working], notSent))).toMatchObject({ outcome: "unknown" });
    const done = await failure(streaming([working, become(TaskState.FAILED)]));
    expect(await failure(failing([working], done))).toBe(done);
  });
});

describe("a stream that just ends", () => {
  const end = async (stream: ReturnType<typeof streaming>): Promise<unknown> => {
    try {
      for await (const _ of stream);
    } catch (error) {
      return error;
    }
    return undefined;
  };
  const message = create(StreamResponseSchema, { payload: { case: "message", value: { messageId: "m" } } });

  it.each([
    ["with its task done", [working, become(TaskState.COMPLETED)]],
    ["with its task failed", [working, become(TaskState.FAILED)]],
    ["with a question", [working, become(TaskState.INPUT_REQUIRED)]],
    ["with a request to log in", [working, become(TaskState.AUTH_REQUIRED)]],
    ["with a Message", [message]],
    ["with its task done, resumed without the Task", [chunk("x"), become(TaskState.COMPLETED)]],
    ["with what was written after its task was done", [working, become(TaskState.COMPLETED), chunk("x")]],
  ])("%s has ended", async (_how, responses) => {
    expect(await end(streaming(responses))).toBeUndefined();
  });

  it.each([
    ["at its Task", [working]],
    ["at a chunk", [working, chunk("x")]],
    ["after a question was answered", [working, become(TaskState.INPUT_REQUIRED), become(TaskState.WORKING)]],
    ["at a chunk, resumed without the Task", [chunk("x")]],
  ])("%s was cut", async (_how, responses) => {
    const cut = { reason: "UNAVAILABLE", outcome: "unknown", metadata: { taskId: "t" } };
    const error = await end(streaming(responses));
    expect(error).toBeInstanceOf(CallError);
    expect(error).toMatchObject({ ...cut, message: expect.stringContaining('go on with subscribe("t")') });
    await expect(streaming(responses).reply()).rejects.toMatchObject(cut);
  });

  it("before its first event is no answer", async () => {
    expect(await end(streaming([]))).toMatchObject({ reason: "INVALID_AGENT_RESPONSE", outcome: "unknown" });
  });
});
