import { contentOf } from "../a2a/content.js";
import type { Part } from "../a2a/types.js";
import type { DefinedSkill } from "./agent.js";
import { AgentFault } from "./agent-fault.js";

/** @throws AgentFault when a data part isn't what the skill says it gives. */
export async function assertOutput(skill: DefinedSkill | undefined, parts: readonly Part[]): Promise<void> {
  if (skill?.output === undefined) return;
  for (const part of parts) {
    if (part.content.case !== "data") continue;
    const result = await skill.output["~standard"].validate(contentOf([part]).data);
    if (result.issues === undefined) continue;
    const issues = result.issues.map(({ message }) => message).join("; ");
    throw new AgentFault(`The data that skill ${skill.id} gives doesn't fit its output: ${issues}`);
  }
}
