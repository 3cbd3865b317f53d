import { Writable } from "node:stream";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PartSchema, StreamResponseSchema, TaskState } from "../src/a2a/types.js";
import { printEvents } from "../src/cli/events.js";
import { createOutput, partsText } from "../src/cli/terminal.js";
import { createTaskStream } from "../src/client/task-stream.js";

/** A terminal of both streams, as a person sees it: `\r` goes back, and `\x1b[K` wipes what stands from there on. */
function terminal() {
  const lines = [""];
  let column = 0;
  const show = (text: string): void => {
    const last = lines.length - 1;
    const line = lines[last] ?? "";
    lines[last] = line.slice(0, column) + text + line.slice(column + text.length);
    column += text.length;
  };
  const act: Record<string, () => void> = {
    "\r": () => {
      column = 0;
    },
    "\n": () => {
      lines.push("");
      column = 0;
    },
    "\x1b[K": () => {
      lines[lines.length - 1] = (lines.at(-1) ?? "").slice(0, column);
    },
  };
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      for (const piece of chunk.split(/(\r|\n|\p{Cc}\[\d*[A-Za-z])/u)) {
        const known = act[piece];
        if (known !== undefined) known();
        else if (!piece.startsWith("\x1b")) show(piece);
      }
      done();
    },
  });
  return { lines, stream: Object.assign(stream, { isTTY: true }) as unknown as NodeJS.WriteStream };
}

test("on a terminal what an artifact says stays where it was written", async () => {
  const { lines, stream } = terminal();
  const chunk = (text: string, append: boolean) => ({
    payload: {
      case: "artifactUpdate" as const,
      value: {
        taskId: "t",
        append,
        artifact: { artifactId: "a", parts: [{ content: { case: "text" as const, value: text } }] },
      },
    },
  });
  const status = (state: TaskState) => ({
    payload: { case: "statusUpdate" as const, value: { taskId: "t", status: { state } } },
  });
  const events = [
    { payload: { case: "task" as const, value: { id: "t", status: { state: TaskState.WORKING } } } },
    chunk("Hello ", false),
    chunk("Ada", true),
    status(TaskState.COMPLETED),
  ];
  const streamed = createTaskStream(async function* () {
    for (const event of events) yield create(StreamResponseSchema, event);
  });
  await printEvents(streamed, createOutput(stream, stream), "waiting");
  expect(lines).toEqual(["WORKING", "Hello Ada", "COMPLETED", ""]);
});

test("what a peer says can't take hold of the terminal", () => {
  const part = (text: string) => create(PartSchema, { content: { case: "text", value: text } });
  expect(partsText([part("a\x1b[2J\x1b]0;x\x07b\r\u009bc\td\n")])).toBe("a[2J]0;xbc\td\n");
});
