import { create } from "@bufbuild/protobuf";
import type { Content } from "../a2a/content.js";
import { A2AError } from "../a2a/errors.js";
import { endedBadly, isInterrupted } from "../a2a/task-state.js";
import { type SendMessageResponse, SendMessageResponseSchema, TaskState } from "../a2a/types.js";
import { CallError, callError } from "../client/outcome.js";
import type { Peer, SendOptions } from "../client/peer.js";
import type { Reply } from "../client/reply.js";
import { callOptions, readArguments } from "./arguments.js";
import { printEvents, writeEvents } from "./events.js";
import { timeoutOf, withPeer } from "./peer.js";
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
  const how: SendOptions = {
    taskId: values.task,
    contextId: values.context,
    skill: values.skill,
    returnImmediately: values["no-wait"],
    ...timeoutOf(values),
  };
  const printing = { output, json: values.json ?? false, target };
  const ask = values.stream ? streamed : whole;
  return withPeer(target, values, (peer) => ask(peer, content, how, printing));
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
  const showing = json ? writeEvents(events, output) : printEvents(events, output, `waiting for ${peer.card.name}`);
  const last = await showing.catch((error: unknown) => {
    throw withoutStreaming(peer, error);
  });
  if (!json && last !== undefined) footer(last, { output, target });
  return endedBadly(last?.state) ? 1 : 0;
}

/** What a refused stream means at the command line. */
function withoutStreaming({ card }: Peer, error: unknown): unknown {
  const isOffered = card.capabilities?.streaming === true;
  if (isOffered || !(error instanceof CallError) || error.reason !== "UNSUPPORTED_OPERATION") return error;
  const { reason, message, outcome } = error;
  const told = new A2AError(reason, `${message}: leave out --stream`, { cause: error });
  return callError(told, outcome === "not-sent" ? outcome : undefined);
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
