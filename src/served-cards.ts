import { type CardContext, deriveAgentCard, WELL_KNOWN_CARD } from "./a2a/agent-card.js";
import {
  AGENTS_EXTENSION,
  DEDUPLICATION_EXTENSION,
  RESUME_EXTENSION,
  SKILL_EXTENSION,
  SKILL_METADATA,
} from "./a2a/our-names.js";
import { type AgentCard, type AgentExtensionJson, type AgentSkillJson, AgentSkillSchema } from "./a2a/types.js";
import { v1 } from "./a2a/v1.js";
import { type DefinedAgent, type DefinedSkill, versionOf } from "./agent/agent.js";
import { offeredBy } from "./agent/implemented.js";
import { defaults, type ServeOptions } from "./serve-options.js";
import { byTenant, type ServedAgent } from "./served-agents.js";

/** The cards of the agents of a server. */
export interface Cards {
  /** An agent's card, as callers who come directly see it. */
  of(agent: ServedAgent): AgentCard;
  /** The URIs of the extensions on the card of a tenant's agent. */
  extensionsOf(tenant: string): ReadonlySet<string>;
  /** What is served for a name, or for none; through a proxy with its address. Waits until it is known where the server listens. */
  text(name: string | undefined, forwardedOrigin: string | undefined): Promise<string | undefined>;
  /** All agents, with the addresses of their cards; through a proxy with its address. */
  list(forwardedOrigin?: string): readonly ListedAgent[];
  /** The server listens there. */
  listensAt(origin: string): void;
}

/** An agent, and where its card is. */
export interface ListedAgent {
  readonly name: string;
  readonly card: string;
}

/** Stands for the origin while nobody can have asked yet. */
const NOWHERE = "http://127.0.0.1";
const NO_EXTENSIONS: ReadonlySet<string> = new Set();

/** @throws TypeError when an agent can't have a card, or `publicUrl` isn't a URL: before anything is opened. */
export function createCards(agents: readonly ServedAgent[], options: ServeOptions): Cards {
  let origin = withoutSlash(options.publicUrl ?? NOWHERE);
  if (!URL.canParse(origin)) throw new TypeError(`publicUrl must be a URL, not ${JSON.stringify(options.publicUrl)}`);
  const cardAt = (agent: ServedAgent, at: string) => cardOf(agent, mounted(at, options), listed(agents, at));
  const made = new Map(agents.map((one) => [one, cardAt(one, origin)]));
  let listens: () => void = () => {};
  const listening = new Promise<void>((resolve) => {
    listens = resolve;
  });
  const of = (agent: ServedAgent): AgentCard => made.get(agent) ?? cardAt(agent, origin);
  /** Where callers reach this server: a proxy knows better, unless we were told. */
  const reachedAt = (forwardedOrigin: string | undefined) =>
    options.publicUrl === undefined ? (forwardedOrigin ?? origin) : origin;
  const extensions = byTenant(agents, (one) => new Set(of(one).capabilities?.extensions.map(({ uri }) => uri)));
  return {
    of,
    extensionsOf: (tenant) => extensions.get(tenant) ?? NO_EXTENSIONS,
    async text(name, forwardedOrigin) {
      const agent = agents.find((one) => (name === undefined ? one.tenant === "" : one.name === name));
      if (agent === undefined) return undefined;
      await listening;
      const reached = reachedAt(forwardedOrigin);
      const card = reached === origin ? of(agent) : cardAt(agent, reached);
      return JSON.stringify(v1.writeCard(card));
    },
    list: (forwardedOrigin) => listed(agents, reachedAt(forwardedOrigin)),
    listensAt(address) {
      origin = withoutSlash(options.publicUrl ?? address);
      for (const one of agents) made.set(one, cardAt(one, origin));
      listens();
    },
  };
}

/**
 * The card of an agent, made of what it says and of what is mounted.
 * @throws TypeError when that can't be a card.
 */
function cardOf(
  { agent, tenant }: ServedAgent,
  mounted: Omit<CardContext, "tenant">,
  all: readonly ListedAgent[],
): AgentCard {
  const { definition, skills } = agent;
  const facts = {
    ...definition,
    version: versionOf(agent),
    skills: skills.map(skillFacts),
    extensions: [...extensionsOf(agent), ...(tenant === "" && all.length > 1 ? [listing(all)] : [])],
  };
  const offered = definition.handler === undefined ? mounted.capabilities : offeredBy(definition.handler);
  const { streaming, pushNotifications, extendedAgentCard } = definition.capabilities ?? {};
  const capabilities = {
    streaming: offered.streaming === true && streaming !== false,
    pushNotifications: offered.pushNotifications === true && pushNotifications !== false,
    extendedAgentCard: offered.extendedAgentCard === true && extendedAgentCard !== false,
  };
  try {
    return deriveAgentCard(facts, { ...mounted, tenant, capabilities });
  } catch (cause) {
    throw new TypeError(
      `${definition.name} can't have a card: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

/** What of a skill is the card's. */
function skillFacts(skill: DefinedSkill): AgentSkillJson {
  const known = AgentSkillSchema.fields.map(({ jsonName }) => jsonName);
  return Object.fromEntries(
    Object.entries(skill).filter(([name, value]) => known.includes(name) && value !== undefined),
  );
}

/** The agent's own extensions, and what this server adds to every agent that it runs. */
function extensionsOf({ definition, skills }: DefinedAgent): AgentExtensionJson[] {
  const own = (definition.extensions ?? []).map(({ uri, description, required, params }) => ({
    uri,
    description,
    required,
    ...(params === undefined ? {} : { params }),
  }));
  if (definition.handler !== undefined) return own;
  const deduplication = {
    uri: DEDUPLICATION_EXTENSION,
    description: "A message sent again under the same messageId within a day is taken once",
  };
  const resume = { uri: RESUME_EXTENSION, description: "Last-Event-ID resumes a stream; events carry their position" };
  const skill = {
    uri: SKILL_EXTENSION,
    description: `message.metadata.${SKILL_METADATA} names the skill that a message is for`,
  };
  return [...own, deduplication, resume, ...(skills.length === 0 ? [] : [skill])];
}

/** Who finds the default agent finds the others. */
function listing(agents: readonly ListedAgent[]): AgentExtensionJson {
  const description = "params.agents are the agents of this server, with their cards; GET /agents lists them too";
  return { uri: AGENTS_EXTENSION, description, params: { agents: agents.map(({ name, card }) => ({ name, card })) } };
}

function listed(agents: readonly ServedAgent[], origin: string): readonly ListedAgent[] {
  return agents.map(({ name }) => ({
    name,
    card: `${origin}/agents/${encodeURIComponent(name)}${WELL_KNOWN_CARD}`,
  }));
}

/** What of the card is the server's to say. */
function mounted(
  origin: string,
  { path = defaults.path, auth, extendedCard }: ServeOptions,
): Omit<CardContext, "tenant"> {
  const schemes = typeof auth === "object" ? Object.entries(auth).map(([name, { scheme }]) => [name, scheme]) : [];
  return {
    origin,
    path,
    versions: [v1.id],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: extendedCard !== undefined },
    securitySchemes: Object.fromEntries(schemes),
  };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}
