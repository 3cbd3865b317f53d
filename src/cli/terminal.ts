import type { DescMessage, Message } from "@bufbuild/protobuf";
import { encodeJson } from "../a2a/codec.js";
import { writeTimestamp } from "../a2a/codec-wkt.js";
import { contentOf } from "../a2a/content.js";
import { type Artifact, type Part, Role, type Task, TaskState } from "../a2a/types.js";
import { type Runtime, systemRuntime, type Timer } from "../runtime/runtime.js";

/** Where a command writes. */
export interface Output {
  /** A line of the result. */
  line(text: string): void;
  /** Text without a line break: what grows. */
  write(text: string): void;
  /** A message as ProtoJSON, on one line. */
  json(schema: DescMessage, message: Message): void;
  /** Shows that something is going on, on a terminal only; gives what stops it, as often as one likes. */
  spin(label: string): () => void;
  readonly color: boolean;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;

/** The output of a process. Colors and spinners are for a terminal; `NO_COLOR` turns colors off. */
export function createOutput(
  stdout: NodeJS.WriteStream,
  stderr: NodeJS.WriteStream,
  runtime: Runtime = systemRuntime,
): Output {
  const color = stdout.isTTY === true && process.env.NO_COLOR === undefined;
  return {
    color,
    line: (text) => void stdout.write(`${text}\n`),
    write: (text) => void stdout.write(text),
    json: (schema, message) => void stdout.write(`${JSON.stringify(encodeJson(schema, message))}\n`),
    spin: (label) => (stderr.isTTY === true ? spinner(stderr, runtime, label) : () => {}),
  };
}

function spinner(stderr: NodeJS.WriteStream, runtime: Runtime, label: string): () => void {
  let frame = 0;
  let timer: Timer | undefined;
  const draw = (): void => {
    stderr.write(`\r${FRAMES[frame++ % FRAMES.length]} ${label}`);
    timer = runtime.after(FRAME_MS, draw);
  };
  draw();
  let stopped = false;
  return () => {
    if (stopped) return; // what stands on the line by now is somebody else's
    stopped = true;
    timer?.cancel();
    stderr.write(`\r\x1b[K`);
  };
}

const COLORS: Readonly<Partial<Record<TaskState, number>>> = {
  [TaskState.COMPLETED]: 32,
  [TaskState.FAILED]: 31,
  [TaskState.REJECTED]: 31,
  [TaskState.CANCELED]: 33,
  [TaskState.INPUT_REQUIRED]: 36,
  [TaskState.AUTH_REQUIRED]: 36,
};

/** A state as a person reads it. */
export function stateText(state: TaskState | undefined, color: boolean): string {
  const name = TaskState[state ?? TaskState.UNSPECIFIED] ?? String(state);
  const code = COLORS[state ?? TaskState.UNSPECIFIED];
  return color && code !== undefined ? `\x1b[${code}m${name}\x1b[0m` : name;
}

/** Parts as a person reads them: text as it is, data as JSON, files by what is known of them. */
export function partsText(parts: readonly Part[]): string {
  return plain(parts.map(partText).join(""));
}

/** A peer's text without what would move the cursor, or do more: it is a stranger's. */
export function plain(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, "");
}

function partText(part: Part): string {
  const { content, filename, mediaType } = part;
  const what = [filename, mediaType].filter((text) => text !== "").join(", ");
  switch (content.case) {
    case "text":
      return content.value;
    case "data":
      return `\n${JSON.stringify(contentOf([part]).data, null, 2)}\n`;
    case "url":
      return `\n[${content.value}${what === "" ? "" : ` (${what})`}]\n`;
    case "raw":
      return `\n[${content.value.length} bytes${what === "" ? "" : ` (${what})`}]\n`;
    default:
      return "";
  }
}

/** A task as a person reads it. */
export function taskText(task: Task, color: boolean): string {
  const { status } = task;
  const since = status?.timestamp === undefined ? "" : ` since ${writeTimestamp(status.timestamp)}`;
  const said = status?.message === undefined ? "" : partsText(status.message.parts);
  return [
    `task     ${task.id}`,
    `context  ${task.contextId}`,
    `state    ${stateText(status?.state, color)}${since}`,
    ...(said === "" ? [] : [`says     ${said}`]),
    ...task.history.map(
      (message) => `${message.role === Role.USER ? "user " : "agent"}    ${partsText(message.parts)}`,
    ),
    ...task.artifacts.map(artifactText),
  ].join("\n");
}

function artifactText({ artifactId, name, parts }: Artifact): string {
  return `artifact ${plain(name === "" ? artifactId : `${name} (${artifactId})`)}\n${partsText(parts).trim()}`;
}
