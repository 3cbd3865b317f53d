import { clone, create, equals, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TaskEventSchema } from "../gen/nuncio/journal/v1/journal_pb.js";
import { type Message, Role, type Task, TaskSchema, TaskState } from "../src/a2a/types.js";
import { Entry } from "../src/journal/event.js";
import type { NewEvent } from "../src/journal/journal.js";
import { fold, toStreamResponse } from "../src/journal/projection.js";
import { artifact, asked, completed, received, said, status, working } from "./support/journal-events.js";

const turn: NewEvent = { kind: { case: "turnStarted", value: { turn: 1, attempt: 1 } } };

/** Entries of one task, a second apart. */
function log(...events: readonly NewEvent[]): Entry[] {
  return events.map((init, index) => {
    const body = toBinary(TaskEventSchema, create(TaskEventSchema, init));
    return new Entry("t", index + 1, (index + 1) * 1_000, body);
  });
}

const text = (message: Message | undefined) => message?.parts[0]?.content.value;
const history = (task: Task) => task.history.map(text);
const parts = (task: Task, index = 0) => task.artifacts[index]?.parts.map((part) => part.content.value);

describe("a task as its entries make it", () => {
  test("begins submitted, with its first message", () => {
    const [first] = log(received("hello"));
    const task = first && fold(undefined, [first]);
    expect(task).toMatchObject({
      id: "t",
      contextId: "c",
      status: { state: TaskState.SUBMITTED, timestamp: { seconds: 1n } },
    });
    expect(task && history(task)).toEqual(["hello"]);
  });

  test("begins with nothing but a message", () => {
    expect(() => fold(undefined, log(working()))).toThrow(TypeError);
    expect(() => fold(undefined, [])).toThrow(TypeError);
  });

  test("a status message becomes history when the next status comes", () => {
    const task = fold(undefined, log(received("q"), turn, working("one"), working("two")));
    expect(history(task)).toEqual(["q", "one"]);
    expect(text(task.status?.message)).toBe("two");
    const ended = fold(task, log(completed()));
    expect(history(ended)).toEqual(["q", "one", "two"]);
    expect(ended.status?.message).toBeUndefined();
  });

  test("a question stands before its answer, and in one place only", () => {
    const answered = fold(undefined, log(received("q"), turn, asked("which?"), received("that")));
    expect(history(answered)).toEqual(["q", "which?", "that"]);
    expect(answered.status).toMatchObject({ state: TaskState.INPUT_REQUIRED, timestamp: { seconds: 3n } });
    expect(answered.status?.message).toBeUndefined();
    const going = fold(answered, log(turn));
    expect(history(going)).toEqual(["q", "which?", "that"]);
    expect(going.status?.state).toBe(TaskState.WORKING);
  });

  test("a turn that starts moves what was said before it into the history", () => {
    const task = fold(undefined, log(received("q"), turn, status(TaskState.WORKING, "first done"), turn));
    expect(history(task)).toEqual(["q", "first done"]);
    expect(task.status).toMatchObject({ state: TaskState.WORKING, timestamp: { seconds: 4n } });
  });

  test("chunks are joined in order, a whole artifact replaces the old one in its place", () => {
    const chunked = log(
      received("q"),
      artifact("a", "1"),
      artifact("b", "x"),
      artifact("a", "2", true),
      artifact("a", "3", true),
    );
    const task = fold(undefined, chunked);
    expect(parts(task)).toEqual(["1", "2", "3"]);
    const replaced = fold(task, log(artifact("a", "new")));
    expect(parts(replaced)).toEqual(["new"]);
    expect(replaced.artifacts.map(({ artifactId }) => artifactId)).toEqual(["a", "b"]);
  });

  test("a chunk of an unknown artifact begins it", () => {
    expect(parts(fold(undefined, log(received("q"), artifact("a", "1", true), artifact("a", "2", true))))).toEqual([
      "1",
      "2",
    ]);
  });

  test("a chunk may add a name, metadata and extensions, and takes none away", () => {
    const chunk = (value: object): NewEvent => ({
      kind: { case: "artifactUpdated", value: { append: true, artifact: { artifactId: "a", ...value } } },
    });
    const task = fold(
      undefined,
      log(
        received("q"),
        chunk({ name: "n", metadata: { a: 1, b: 1 }, extensions: ["x"] }),
        chunk({ description: "d", metadata: { b: 2, ["__proto__"]: 3 }, extensions: ["x", "y"] }),
      ),
    );
    expect(task.artifacts[0]).toMatchObject({ name: "n", description: "d", extensions: ["x", "y"] });
    expect(task.artifacts[0]?.metadata).toMatchObject({ a: 1, b: 2 });
    expect(Object.getPrototypeOf(task.artifacts[0]?.metadata)).toBe(Object.prototype);
  });

  test("steps, waits and requests to cancel change nothing", () => {
    const task = fold(undefined, log(received("q")));
    const others: NewEvent[] = [
      { kind: { case: "stepStarted", value: { name: "s" } } },
      { kind: { case: "stepEnded", value: { name: "s" } } },
      { kind: { case: "waited", value: {} } },
      { kind: { case: "granted", value: {} } },
      { kind: { case: "cancelRequested", value: {} } },
      { kind: { case: undefined } },
    ];
    expect(fold(task, log(...others))).toEqual(task);
    for (const entry of log(...others, received("x"))) {
      expect(toStreamResponse(entry, { taskId: "t", contextId: "c" })).toBeUndefined();
    }
  });

  test("a later version never changes an earlier one, and folding many is folding one by one", () => {
    const event = fc.oneof(
      fc.constantFrom(received("more"), turn, working("said"), working(), asked("?")),
      fc.tuple(fc.constantFrom("a", "b"), fc.boolean()).map(([id, append]) => artifact(id, "x", append)),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.nat(30), (events, cut) => {
        const entries = log(received("q"), ...events);
        const versions: Task[] = [];
        const copies: Task[] = [];
        for (const entry of entries) {
          const task = fold(versions.at(-1), [entry]);
          versions.push(task);
          copies.push(clone(TaskSchema, task));
        }
        const at = Math.min(cut, entries.length - 1);
        const both = fold(fold(undefined, entries.slice(0, at + 1)), entries.slice(at + 1));
        expect(equals(TaskSchema, both, versions.at(-1) ?? both)).toBe(true);
        for (const [index, copy] of copies.entries()) expect(versions[index]).toEqual(copy);
      }),
    );
  });
});

describe("a stream event of an entry", () => {
  const head = { taskId: "t", contextId: "c" };
  const payload = (init: NewEvent) => log(init).map((entry) => toStreamResponse(entry, head)?.payload)[0];

  test("a status is a status update, with its time", () => {
    const metadata = { a: 1 };
    const message = said("hm", Role.AGENT);
    expect(
      payload({ kind: { case: "statusUpdated", value: { state: TaskState.FAILED, message, metadata } } }),
    ).toMatchObject({
      case: "statusUpdate",
      value: { ...head, metadata, status: { state: TaskState.FAILED, message, timestamp: { seconds: 1n } } },
    });
  });

  test("a turn is a status update", () => {
    expect(payload(turn)).toMatchObject({
      case: "statusUpdate",
      value: { ...head, status: { state: TaskState.WORKING } },
    });
  });

  test("an artifact is an artifact update", () => {
    const value = { artifact: { artifactId: "a" }, append: true, lastChunk: true, metadata: { b: 2 } };
    expect(payload({ kind: { case: "artifactUpdated", value } })).toMatchObject({
      case: "artifactUpdate",
      value: { ...head, ...value },
    });
  });
});
