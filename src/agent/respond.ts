import { madeSkillId } from "../a2a/agent-card.js";
import { anonymous, type Call } from "../a2a/call.js";
import { messageView, partsOf } from "../a2a/content.js";
import { copyMessage } from "../a2a/copy-message.js";
import { invalidParams } from "../a2a/errors.js";
import { SKILL_METADATA } from "../a2a/our-names.js";
import type { Message, Part } from "../a2a/types.js";
import type { DefinedAgent, DefinedSkill } from "./agent.js";
import { assertInput, assertOutput, inputData } from "./skill-data.js";

/**
 * The skill that a message is for (never inferred from its text): the one it names, else the only one, the default, or none where the
 * agent itself answers. Its data must be what the skill takes.
 * @throws A2AError INVALID_PARAMS that lists the skills, or says what is wrong with the data.
 */
export function chooseSkill(agent: DefinedAgent, message: Message): string | undefined | Promise<string | undefined> {
  const skill = skillFor(agent, message);
  if (skill?.input === undefined) return skill?.id;
  return assertInput(skill.input, messageView(message, anonymous)).then(() => skill.id);
}

/** What the agent, or its skill, answers directly; `undefined`: it wants a task. */
export async function reply(
  agent: DefinedAgent,
  skillId: string | undefined,
  message: Message,
  call: Call,
): Promise<readonly Part[] | undefined> {
  const skill = agent.skills.find(({ id }) => id === skillId);
  const answering = skill?.reply !== undefined ? skill : skill?.run === undefined ? agent.definition : undefined;
  if (answering?.reply === undefined) return undefined;
  const view = messageView(copyMessage(message), call.principal ?? anonymous); // a task may still begin with it
  const data = skill?.input === undefined ? view.data : await inputData(skill.input, view);
  const content = await answering.reply({ ...view, data }, call);
  if (content === undefined) return undefined;
  const parts = partsOf(content);
  if (skill !== undefined) await assertOutput(skill, parts);
  return parts;
}

/** Whether the agent ever answers directly. */
export function canReply({ definition, skills }: DefinedAgent): boolean {
  return [definition, ...skills].some((one) => one.reply !== undefined);
}

/** Whether the agent ever works on a task. */
export function canRun({ definition, skills }: DefinedAgent): boolean {
  return [definition, ...skills].some((one) => one.run !== undefined);
}

function skillFor({ definition, skills }: DefinedAgent, message: Message): DefinedSkill | undefined {
  const named = message.metadata?.[SKILL_METADATA];
  const answering = skills.filter((one) => one.run !== undefined || one.reply !== undefined);
  if (named !== undefined) {
    const ids = skills.length === 0 ? [madeSkillId(definition.name)] : skills.map(({ id }) => id);
    if (!ids.some((id) => id === named)) throw unnamed(`there is no skill ${JSON.stringify(named)}`, ids);
    return skills.find(({ id }) => id === named);
  }
  if (answering.length === 0 || definition.run !== undefined || definition.reply !== undefined) return undefined;
  const chosen = answering.length === 1 ? answering[0] : answering.find((one) => one.default);
  if (chosen === undefined)
    throw unnamed(
      "names one of several skills",
      skills.map(({ id }) => id),
    );
  return chosen;
}

function unnamed(what: string, ids: readonly string[]) {
  const description = `${what}; say one of ${ids.join(", ")}`;
  return invalidParams([{ path: `message.metadata.${SKILL_METADATA}`, rule: "SKILL", description, section: "§4.4.5" }]);
}
