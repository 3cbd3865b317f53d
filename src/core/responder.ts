import type { Call } from "../a2a/call.js";
import type { AgentCard, Message, Part } from "../a2a/types.js";

/** What the core needs to know of an agent. It doesn't run one: tasks are left in the journal for that. */
export interface Responder {
  /** Its key in `serve({ agents })`, and the tenant that its tasks are stored under; `""` for the default one. */
  readonly name: string;
  readonly version: string;
  /** The public card, as it is served. */
  card(): AgentCard;
  /** Whether the agent works on tasks at all; one that only replies doesn't. */
  readonly runs: boolean;
  /** Whether it may answer directly. */
  readonly replies: boolean;
  /**
   * The skill that a new message is for; `undefined`: the agent's own `run`. Its data is judged by the skill's schema.
   * @throws A2AError INVALID_PARAMS.
   */
  choose(message: Message): string | undefined | Promise<string | undefined>;
  /** Answers directly; `undefined`: a task is wanted. May run twice for one message. */
  reply(skill: string | undefined, message: Message, call: Call): Promise<readonly Part[] | undefined>;
}
