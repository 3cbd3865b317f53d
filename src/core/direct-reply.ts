import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Call } from "../a2a/call.js";
import { A2AError } from "../a2a/errors.js";
import { type Message, MessageSchema, Role } from "../a2a/types.js";
import type { Duplicate } from "../journal/journal.js";
import type { Accepted } from "./accept.js";
import type { Core } from "./core.js";
import { REPLY_TIMEOUT_MS } from "./limits.js";

/** What the first of two equal messages came to. */
export function repeatOf(first: Duplicate): Accepted {
  if (first.reply !== undefined) return { kind: "reply", message: fromBinary(MessageSchema, first.reply) };
  if (first.taskId === undefined) throw new Error("A message is remembered with neither a task nor a reply");
  return { kind: "task", taskId: first.taskId, message: first.position, position: first.position, repeated: true };
}

/**
 * Asks the agent for a direct answer (§3.1.1) and keeps it under its message, so that a repeat gets the same.
 * `undefined`: the agent wants a task.
 */
export async function answerDirectly(
  core: Core,
  asked: { skill: string | undefined; message: Message; contextId: string; key: Uint8Array; call: Call },
): Promise<Accepted | undefined> {
  const { skill, message, contextId, key, call } = asked;
  const known = await core.journal.recall(key);
  if (known !== undefined) return repeatOf(known);
  const parts = await inTime(core, core.responder.reply(skill, message, call));
  if (parts === undefined) return undefined;
  if (parts.length === 0) throw new A2AError("INVALID_AGENT_RESPONSE", "The agent gave an answer without parts");
  const reply = create(MessageSchema, { messageId: core.runtime.id(), contextId, role: Role.AGENT, parts: [...parts] });
  const earlier = await core.journal.remember(key, toBinary(MessageSchema, reply));
  return earlier === undefined ? { kind: "reply", message: reply } : repeatOf(earlier);
}

function inTime<T>(core: Core, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`The agent's reply took longer than ${REPLY_TIMEOUT_MS} ms`));
    const timer = core.runtime.after(REPLY_TIMEOUT_MS, late);
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
