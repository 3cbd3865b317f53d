import { create } from "@bufbuild/protobuf";
import { endedBadly } from "../a2a/task-state.js";
import { StreamResponseSchema, TaskSchema, TaskState } from "../a2a/types.js";
import { CallError } from "../client/outcome.js";
import { callOptions, readArguments, wholeNumber } from "./arguments.js";
import { printEvents, writeEvents } from "./events.js";
import { timeoutOf, withPeer } from "./peer.js";
import { type Output, stateText, taskText } from "./terminal.js";
import { UsageError, usage } from "./usage.js";

const MAX_LIMIT = 1_000_000;

/** `nuncio task get|list|cancel|watch`. */
export async function task(args: readonly string[], output: Output): Promise<number> {
  const [verb, ...rest] = args;
  switch (verb) {
    case "get":
      return get(rest, output);
    case "list":
      return list(rest, output);
    case "cancel":
      return cancel(rest, output);
    case "watch":
      return watch(rest, output);
    default:
      throw new UsageError(
        `nuncio task takes get, list, cancel or watch${verb === undefined ? "" : `, not ${JSON.stringify(verb)}`}`,
      );
  }
}

async function get(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = readArguments(args, { ...callOptions, history: { type: "string" } }, usage.get, 2);
  const [target = "", id = ""] = positionals;
  const historyLength = wholeNumber("history", values.history, { min: 0, max: 2 ** 31 - 1 });
  const found = await withPeer(target, values, (peer) => peer.get(id, { historyLength, ...timeoutOf(values) }));
  if (values.json) output.json(TaskSchema, found);
  else output.line(taskText(found, output.color));
  return 0;
}

async function list(args: readonly string[], output: Output): Promise<number> {
  const options = {
    ...callOptions,
    context: { type: "string" },
    state: { type: "string" },
    limit: { type: "string" },
  } as const;
  const { values, positionals } = readArguments(args, options, usage.list, 1);
  const limit = wholeNumber("limit", values.limit, { min: 1, max: MAX_LIMIT }) ?? 50;
  const status = stateOf(values.state);
  const shown = await withPeer(positionals[0] ?? "", values, async (peer) => {
    let count = 0;
    const asked = { contextId: values.context, status, pageSize: Math.min(limit, 100), ...timeoutOf(values) };
    for await (const one of peer.list(asked)) {
      if (values.json) output.json(TaskSchema, one);
      else output.line(`${one.id}  ${stateText(one.status?.state, output.color)}  context ${one.contextId}`);
      count += 1;
      if (count === limit) break;
    }
    return count;
  });
  if (shown === 0 && !values.json) output.line("No tasks.");
  return 0;
}

async function cancel(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = readArguments(args, callOptions, usage.cancel, 2);
  const [target = "", id = ""] = positionals;
  const canceled = await withPeer(target, values, (peer) => {
    const stop = output.spin("canceling");
    return peer.cancel(id, timeoutOf(values)).finally(stop);
  });
  if (values.json) output.json(TaskSchema, canceled);
  else output.line(`${canceled.id}  ${stateText(canceled.status?.state, output.color)}`);
  return 0;
}

async function watch(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = readArguments(args, { ...callOptions, after: { type: "string" } }, usage.watch, 2);
  const [target = "", id = ""] = positionals;
  const ended = await withPeer(target, values, async (peer) => {
    const events = peer.subscribe(id, { after: values.after, ...timeoutOf(values) });
    try {
      const last = values.json ? await writeEvents(events, output) : await printEvents(events, output, "watching");
      return last?.state;
    } catch (error) {
      // It has ended, and only its result is left to see (§3.1.6).
      if (!(error instanceof CallError) || error.reason !== "UNSUPPORTED_OPERATION") throw error;
      const found = await peer.get(id, timeoutOf(values));
      if (values.json) {
        output.json(StreamResponseSchema, create(StreamResponseSchema, { payload: { case: "task", value: found } }));
      } else output.line(taskText(found, output.color));
      return found.status?.state;
    }
  });
  return endedBadly(ended) ? 1 : 0;
}

function stateOf(name: string | undefined): TaskState | undefined {
  if (name === undefined) return undefined;
  const plain = name
    .toUpperCase()
    .replaceAll("-", "_")
    .replace(/^TASK_STATE_/, "");
  const names = Object.keys(TaskState).filter((key) => /^[A-Z]/.test(key) && key !== "UNSPECIFIED");
  if (names.includes(plain)) return TaskState[plain as keyof typeof TaskState];
  throw new UsageError(`--state must be one of ${names.join(", ")}, not ${JSON.stringify(name)}`);
}
