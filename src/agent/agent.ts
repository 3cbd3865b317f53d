import type { Call } from "../a2a/call.js";
import type { Content, MessageView } from "../a2a/content.js";
import type { HandlerImplementation } from "../a2a/handler.js";
import type { AgentSkillJson } from "../a2a/types.js";
import type { Extension } from "./extension.js";
import type { Parsed, Schema, Written } from "./schema.js";
import type { Ending, TaskContext, Update } from "./task-context.js";

/** What `async *run(task)` gives. */
// biome-ignore lint/suspicious/noConfusingVoidType: a generator without a return statement returns void
export type Run = AsyncGenerator<Update, Ending | undefined | void, void>;

/** A skill as the card shows it. `name` and `tags` default to the id, modes to the agent's. */
export interface SkillFacts extends Omit<AgentSkillJson, "id" | "description"> {
  id: string;
  description: string;
  /** The skill of messages that name none. At most one; default: none, unless there is only one skill. */
  default?: boolean | undefined;
}

/** A skill to be made by `skill`: its facts, its schemas, and what answers. */
export interface SkillDefinition<I = undefined, O = undefined> extends SkillFacts {
  /** What the message's data part, or else its text, must be. Anything else is InvalidParams with paths, before there is a task. */
  input?: I | undefined;
  /** What this skill's data parts are: types them, and checks them before they are recorded. */
  output?: O | undefined;
  reply?(
    input: MessageView<Parsed<I>>,
    call: Call,
  ): Content<Written<O>> | undefined | Promise<Content<Written<O>> | undefined>;
  run?(task: TaskContext<Parsed<I>, Written<O>>): Run;
}

/** A skill with typed data, made by `skill`. */
export interface Skill extends SkillFacts {
  readonly "made by skill()": true;
}

/** A skill whose data is typed by its schemas. Also how one writes a skill in a file of its own. */
export function skill<I = undefined, O = undefined>(definition: SkillDefinition<I, O>): Skill {
  return { ...definition, "made by skill()": true };
}

/** A skill written in place, without schemas. */
export interface PlainSkill extends SkillFacts {
  input?: "wrap this skill in skill({ … }) to type its data";
  output?: "wrap this skill in skill({ … }) to type its data";
  reply?(input: MessageView, call: Call): Content | undefined | Promise<Content | undefined>;
  run?(task: TaskContext): Run;
}

/** What an agent says of itself, and what answers. */
export interface AgentDefinition {
  name: string;
  description: string;
  /** Default `"1.0.0"`. */
  version?: string | undefined;
  provider?: { organization: string; url: string } | undefined;
  documentationUrl?: string | undefined;
  iconUrl?: string | undefined;
  /** Default `["text/plain", "application/json"]`. */
  defaultInputModes?: string[] | undefined;
  defaultOutputModes?: string[] | undefined;
  /** Default: one, made of name and description. */
  skills?: readonly (PlainSkill | Skill)[] | undefined;
  extensions?: readonly Extension[] | undefined;
  /** What the agent doesn't offer although the server, or its own `handler`, could. */
  capabilities?:
    | {
        streaming?: false | undefined;
        pushNotifications?: false | undefined;
        extendedAgentCard?: false | undefined;
      }
    | undefined;
  /** Answers with a Message, and there is no task; `undefined` hands over to `run`. Quick and without effects: it isn't recorded. */
  reply?(input: MessageView, call: Call): Content | undefined | Promise<Content | undefined>;
  /** Works on a task. Skills that have their own `run` come first. */
  run?(task: TaskContext): Run;
  /**
   * Instead of all that: the operations themselves. What is left out is UnsupportedOperation; the card says that the agent streams if
   * `sendStreamingMessage` is there, and that it has push notifications if all four of their operations are.
   */
  handler?: HandlerImplementation | undefined;
  /** Aborts a run that says nothing for so long. Default 600 000 (10 minutes). */
  inactivityMs?: number | undefined;
}

const BRAND = Symbol.for("nuncio.Agent");

/** What `serve` takes. */
export interface Agent {
  readonly name: string;
  readonly "made by agent()": true;
}

/** An agent as this package reads it. */
export interface DefinedAgent extends Agent {
  readonly definition: AgentDefinition;
  readonly skills: readonly DefinedSkill[];
}

/** A skill with its types forgotten: what data it takes is known to its schema alone. */
export interface DefinedSkill extends SkillFacts {
  readonly input?: Schema | undefined;
  readonly output?: Schema | undefined;
  reply?(input: MessageView, call: Call): Content | undefined | Promise<Content | undefined>;
  run?(task: TaskContext): Run;
}

/**
 * An agent: what its card says, and what answers.
 * @throws TypeError when nothing answers (no `run`, `reply`, `handler`, nor a skill with one), a name or description is empty, two
 * skills share an id, or two are the default.
 */
export function agent(definition: AgentDefinition): Agent {
  const skills = (definition.skills ?? []) as readonly DefinedSkill[];
  assertDefinition(definition, skills);
  const made: DefinedAgent = { name: definition.name, "made by agent()": true, definition, skills };
  Object.defineProperty(made, BRAND, { value: true });
  return made;
}

/** @throws TypeError for anything that `agent()` didn't make. */
export function definedAgent(value: unknown): DefinedAgent {
  if (isAgent(value)) return value;
  throw new TypeError("This isn't an agent: make one with agent({ name, description, run })");
}

/** The version of an agent, as its card and its turns say it. */
export function versionOf({ definition }: DefinedAgent): string {
  return definition.version ?? "1.0.0";
}

/** Whether a value was made by `agent()`, of this copy of the package or another. */
export function isAgent(value: unknown): value is DefinedAgent {
  return typeof value === "object" && value !== null && BRAND in value;
}

function assertDefinition(definition: AgentDefinition, skills: readonly DefinedSkill[]): void {
  const { name, description } = definition;
  for (const [field, text] of Object.entries({ name, description })) {
    if (typeof text !== "string" || text === "")
      throw new TypeError(`An agent needs a ${field}: agent({ name, description, run })`);
  }
  const ids = new Set<string>();
  for (const { id, description: what } of skills) {
    if (typeof id !== "string" || id === "" || typeof what !== "string" || what === "") {
      throw new TypeError(`Each skill of ${name} needs an id and a description`);
    }
    if (ids.has(id)) throw new TypeError(`Two skills of ${name} are called ${id}`);
    ids.add(id);
  }
  if (skills.filter((one) => one.default).length > 1) throw new TypeError(`${name} has more than one default skill`);
  const answers = [definition, ...skills].some((one) => one.run !== undefined || one.reply !== undefined);
  if (!answers && definition.handler === undefined)
    throw new TypeError(`Nothing answers for ${name}: give it run, reply or handler, or a skill that has run or reply`);
  if (answers && definition.handler !== undefined)
    throw new TypeError(`${name} has a handler, which answers everything: leave out run and reply`);
}
