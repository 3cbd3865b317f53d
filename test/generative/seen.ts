import { isDeepStrictEqual } from "node:util";
import { A2AError } from "nuncio";
import { type Message, Role, type Task } from "nuncio/types";
import { stateOf, textOf } from "../contract/messages.js";
import { type Seen, type State, THREW } from "./model.js";

/** Longer than any step takes; what takes longer hangs. */
const STEP_TIMEOUT_MS = 15_000;

/** What the events of a stream say of a task: messages of its caller aren't among them. */
export const ofStream = ({ state, said, artifacts }: Seen) => ({ state, said, artifacts });

/** A task in words; what must be there whatever it is about is looked at here. */
export function seenOf(task: Task): Seen {
  const { id, contextId, status, history, artifacts } = task;
  if (status?.timestamp === undefined) throw new Error(`Task ${id} has no status time`);
  for (const one of [...history, ...(status.message === undefined ? [] : [status.message])]) {
    if (one.taskId !== id || one.contextId !== contextId || one.messageId === "")
      throw new Error(`A message of task ${id} says that it is ${one.messageId} of ${one.taskId} in ${one.contextId}`);
  }
  if (new Set(artifacts.map(({ artifactId }) => artifactId)).size < artifacts.length)
    throw new Error(`Task ${id} has two artifacts of one id`);
  return {
    id,
    contextId,
    state: stateOf(task) as State,
    said: status.message === undefined ? undefined : words(status.message),
    history: history.map((one) => `${one.role === Role.USER ? "U" : "A"}: ${words(one)}`),
    artifacts: artifacts.map((one) => textOf(one)),
  };
}

function words(one: Message): string {
  const text = textOf(one);
  return text.startsWith(THREW) ? THREW : text;
}

/** The order of lists (§3.1.4). */
export function newestFirst(one: readonly unknown[], other: readonly unknown[]): number {
  for (const [index, value] of one.entries()) {
    const [a, b] = [value as number | string, other[index] as number | string];
    if (a !== b) return a > b ? -1 : 1;
  }
  return 0;
}

/** The first event of a stream, which is then left. */
export async function first<T>(events: AsyncIterable<T>): Promise<T | undefined> {
  for await (const event of events) return event;
  return undefined;
}

/** @throws Error unless the attempt is refused for this reason. */
export async function refused(reason: string, attempt: Promise<unknown>): Promise<void> {
  const given = await attempt.then(
    () => "no refusal",
    (error: unknown) => {
      if (error instanceof A2AError) return error.reason;
      throw error;
    },
  );
  same("reason", given, reason);
}

/** @throws Error with both, where they differ. */
export function same(what: string, given: unknown, expected: unknown): void {
  if (isDeepStrictEqual(given, expected)) return;
  throw new Error(`${what} is\n  ${JSON.stringify(given)}\nand should be\n  ${JSON.stringify(expected)}`);
}

/** @throws Error when a step takes longer than any should. */
export function inTime<T>(step: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("The step hangs")), STEP_TIMEOUT_MS);
  });
  return Promise.race([step, late]).finally(() => clearTimeout(timer));
}
