import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role, TaskState } from "../../src/a2a/types.js";
import type { AppendRequest, AppendResult, Journal, NewEvent, Scope } from "../../src/journal/journal.js";
import { systemRuntime } from "../../src/runtime/runtime.js";

export const ada: Scope = { tenant: "", owner: "ada" };
export const bob: Scope = { tenant: "", owner: "bob" };

export function said(text: string, role: Role = Role.USER, messageId = systemRuntime.id()): Message {
  return create(MessageSchema, {
    messageId,
    contextId: "c",
    role,
    parts: [{ content: { case: "text", value: text } }],
  });
}

export function received(text: string): NewEvent {
  return { kind: { case: "messageReceived", value: { message: said(text) } } };
}

export function status(state: TaskState, text?: string): NewEvent {
  const message = text === undefined ? undefined : said(text, Role.AGENT);
  return { kind: { case: "statusUpdated", value: { state, ...(message && { message }) } } };
}

export function artifact(artifactId: string, text: string, append = false): NewEvent {
  const value = { artifact: { artifactId, parts: [{ content: { case: "text" as const, value: text } }] }, append };
  return { kind: { case: "artifactUpdated", value } };
}

export const working = (text?: string) => status(TaskState.WORKING, text);
export const completed = () => status(TaskState.COMPLETED);
export const asked = (text: string) => status(TaskState.INPUT_REQUIRED, text);

/** A request that begins a task with one message. */
export function beginning(changes: Partial<AppendRequest> & { scope?: Scope; contextId?: string } = {}): AppendRequest {
  const { scope = ada, contextId = "c", ...rest } = changes;
  return {
    taskId: systemRuntime.id(),
    create: { scope, principal: { id: scope.owner }, agent: "greeter", skill: undefined, contextId },
    events: [received("hello")],
    ...rest,
  };
}

/** Begins a task and says which. */
export async function begun(journal: Journal, changes: Parameters<typeof beginning>[0] = {}): Promise<string> {
  const request = beginning(changes);
  expectOk(await journal.append(request));
  return request.taskId;
}

export function expectOk(result: AppendResult): Extract<AppendResult, { kind: "ok" }> {
  if (result.kind !== "ok") throw new Error(`the append was refused: ${result.kind}`);
  return result;
}
