import { create } from "@bufbuild/protobuf";
import { A2AError, type Call, contentOf, type Handler } from "nuncio";
import {
  CancelTaskRequestSchema,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  SubscribeToTaskRequestSchema,
  type Task,
} from "nuncio/types";
import { expect } from "vitest";
import { send, taskOf } from "./messages.js";

/** The Handler under test, as two users ask it; there from the first test on. */
export interface Users {
  readonly ann: Handler;
  readonly bob: Handler;
}

export const call: Call = {};

/** The calls that the suite makes again and again; ann's, unless another handler is named. */
export function createCalls(on: Users) {
  const begin = async (text: string, handler = on.ann): Promise<Task> =>
    taskOf(await handler.sendMessage(send(text), call));
  const begun = async (text: string, handler = on.ann): Promise<Task> =>
    taskOf(await handler.sendMessage(send(text, { returnImmediately: true }), call));
  const get = (id: string, historyLength?: number, handler = on.ann) =>
    handler.getTask(
      create(GetTaskRequestSchema, { id, ...(historyLength === undefined ? {} : { historyLength }) }),
      call,
    );
  const cancel = (id: string, handler = on.ann) => handler.cancelTask(create(CancelTaskRequestSchema, { id }), call);
  const subscribe = (id: string, after?: string, handler = on.ann) =>
    handler.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), after === undefined ? call : { after });
  const list = (request: Parameters<typeof create<typeof ListTasksRequestSchema>>[1] = {}, handler = on.ann) =>
    handler.listTasks(create(ListTasksRequestSchema, request), call);
  return { begin, begun, get, cancel, subscribe, list };
}

/** The first data part of a task. */
export function dataOf(task: Task): unknown {
  for (const artifact of task.artifacts)
    for (const part of artifact.parts) if (part.content.case === "data") return contentOf([part]).data;
  return undefined;
}

/** Expects a refusal with this reason, whose text or paths say this. */
export async function refused(attempt: Promise<unknown>, reason: string, says = ""): Promise<void> {
  const [given, text] = await reasonOf(attempt);
  expect([given, text]).toEqual([reason, expect.stringContaining(says)]);
}

/** The reason of a refusal, and its text with the paths of its violations. */
export async function reasonOf(attempt: Promise<unknown>): Promise<[string, string]> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof A2AError)
      return [error.reason, `${error.message} ${error.violations.map(({ path }) => path).join(" ")}`.trim()];
    throw error;
  }
  throw new Error("Expected a refusal");
}
