import { contentOf, judge, type MessageView } from "../a2a/content.js";
import { invalidParams } from "../a2a/errors.js";
import type { Part } from "../a2a/types.js";
import type { DefinedSkill } from "./agent.js";
import { AgentFault } from "./agent-fault.js";
import type { Schema } from "./schema.js";

/** @throws A2AError INVALID_PARAMS when a message's data isn't what the skill takes. */
export async function assertInput(schema: Schema, message: MessageView): Promise<void> {
  const judged = await judge(schema, message);
  if (judged.issues !== undefined) throw invalidParams(judged.issues);
}

/** A message's data as the skill's schema makes it; as it came where it doesn't fit any more. */
export async function inputData(schema: Schema, message: MessageView): Promise<unknown> {
  const judged = await judge(schema, message);
  return judged.issues === undefined ? judged.value : message.data;
}

/** @throws AgentFault when a data part isn't what the skill says it gives. */
export async function assertOutput({ id, output }: DefinedSkill, parts: readonly Part[]): Promise<void> {
  if (output === undefined) return;
  for (const part of parts) {
    if (part.content.case !== "data") continue;
    const result = await output["~standard"].validate(contentOf([part]).data);
    if (result.issues === undefined) continue;
    const issues = result.issues.map(({ message }) => message).join("; ");
    throw new AgentFault(`The data that skill ${id} gives doesn't fit its output: ${issues}`);
  }
}
