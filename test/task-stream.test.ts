import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { contentOf } from "../src/a2a/content.js";
import { type StreamResponse, StreamResponseSchema, type Task, TaskState } from "../src/a2a/types.js";
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
    expect(times.many).toBeLessThan(6 * times.few + 20);
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
