import { create } from "@bufbuild/protobuf";
import type { Content } from "../a2a/content.js";
import { endedBadly, isInterrupted } from "../a2a/task-state.js";
import { type SendMessageResponse, SendMessageResponseSchema, TaskState } from "../a2a/types.js";
import type { Peer, SendOptions } from "../client/peer.js";
import type { Reply } from "../client/reply.js";
import { callOptions, readArguments } from "./arguments.js";
import { printEvents, writeEvents } from "./events.js";
import { peerOf, timeoutOf } from "./peer.js";
import { type Output, partsText, stateText } from "./terminal.js";
import { UsageError, usage } from "./usage.js";

/** `nuncio send URL TEXT`: sends, waits, and prints the answer. */
export async function send(args: readonly string[], output: Output): Promise<number> {
  const options = {
    ...callOptions,
    data: { type: "string" },
    stream: { type: "boolean" },
    task: { type: "string" },
    context: { type: "string" },
    skill: { type: "string" },
    "no-wait": { type: "boolean" },
  } as const;
  const { values, positionals } = readArguments(args, options, usage.send, 2);
  const [target = "", text = ""] = positionals;
  const content = contentOf(text, values.data);
  await using peer = await peerOf(target, values);
  const how: SendOptions = {
    taskId: values.task,
    contextId: values.context,
    skill: values.skill,
    returnImmediately: values["no-wait"],
    ...timeoutOf(values),
  };
  const printing = { output, json: values.json ?? false, target };
  return values.stream ? streamed(peer, content, how, printing) : whole(peer, content, how, printing);
}

/** The text, and beside it what `--data` says; without a text (`""`) that alone. @throws UsageError. */
function contentOf(text: string, data: string | undefined): Content {
  if (data === undefined) return text;
  try {
    const part = { data: JSON.parse(data) as unknown };
    return text === "" ? part : [text, part];
  } catch {
    throw new UsageError(`--data must be JSON, such as '{"n": 21}', not ${JSON.stringify(data)}`);
  }
}

interface Printing {
  readonly output: Output;
  readonly json: boolean;
  readonly target: string;
}

async function whole(
  peer: Peer,
  content: Content,
  how: SendOptions,
  { output, json, target }: Printing,
): Promise<number> {
  const stop = output.spin(`waiting for ${peer.card.name}`);
  const reply = await peer.send(content, how).finally(stop);
  if (json) {
    output.json(SendMessageResponseSchema, create(SendMessageResponseSchema, { payload: payloadOf(reply) }));
    return 0;
  }
  output.line(partsText(reply.parts).trim());
  footer(reply, { output, target });
  return 0;
}

async function streamed(
  peer: Peer,
  content: Content,
  how: SendOptions,
  { output, json, target }: Printing,
): Promise<number> {
  const events = peer.stream(content, how);
  const last = json
    ? await writeEvents(events, output)
    : await printEvents(events, output, `waiting for ${peer.card.name}`);
  if (!json && last !== undefined) footer(last, { output, target });
  return endedBadly(last?.state) ? 1 : 0;
}

function payloadOf({ task, message }: Reply): SendMessageResponse["payload"] {
  if (task !== undefined) return { case: "task", value: task };
  return message === undefined ? { case: undefined } : { case: "message", value: message };
}

/** What one may do next, where the task isn't COMPLETED. */
function footer(
  { task, state }: Pick<Reply, "task" | "state">,
  { output, target }: Pick<Printing, "output" | "target">,
): void {
  if (task === undefined || state === TaskState.COMPLETED) return;
  output.line(`\n${stateText(state, output.color)}  task ${task.id}`);
  if (isInterrupted(state)) output.line(`Answer with: npx nuncio send ${target} "…" --task ${task.id}`);
  else output.line(`See it with: npx nuncio task watch ${target} ${task.id}`);
}
