import { decodeJson } from "./codec.js";
import { CONNECT_BINDING, GRPC_WEB_BINDING } from "./our-names.js";
import {
  type AgentCard,
  type AgentCardJson,
  AgentCardSchema,
  type AgentExtensionJson,
  type AgentInterfaceJson,
  type AgentProviderJson,
  type AgentSkillJson,
  type SecuritySchemeJson,
} from "./types.js";

/** Where an agent's card is, below its own path (§8.2, §14.3). */
export const WELL_KNOWN_CARD = "/.well-known/agent-card.json";

/** What an agent says of itself; everything else of its card is derived. */
export interface CardFacts {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly provider?: AgentProviderJson | undefined;
  readonly documentationUrl?: string | undefined;
  readonly iconUrl?: string | undefined;
  /** Default: text and JSON. */
  readonly defaultInputModes?: readonly string[] | undefined;
  readonly defaultOutputModes?: readonly string[] | undefined;
  /** Default: one, made of name and description. */
  readonly skills: readonly AgentSkillJson[];
  readonly extensions: readonly AgentExtensionJson[];
}

/** What is mounted and wired. */
export interface CardContext {
  /** Origin of every interface, without a trailing slash: `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** Where the JSON bindings are: `/a2a`. */
  readonly path: string;
  readonly tenant: string;
  readonly versions: readonly string[];
  readonly capabilities: {
    readonly streaming: boolean;
    readonly pushNotifications: boolean;
    readonly extendedAgentCard: boolean;
  };
  readonly securitySchemes: Readonly<Record<string, SecuritySchemeJson>>;
}

const DEFAULT_MODES = ["text/plain", "application/json"];

/** The Agent Card (§4.4.1): derived from what is really mounted, so that it can't promise what the server refuses. */
export function deriveAgentCard(facts: CardFacts, context: CardContext): AgentCard {
  const { name, description, version, provider, documentationUrl, iconUrl, extensions } = facts;
  const json: AgentCardJson = {
    name,
    description,
    version,
    ...(provider === undefined ? {} : { provider }),
    ...(documentationUrl === undefined ? {} : { documentationUrl }),
    ...(iconUrl === undefined ? {} : { iconUrl }),
    defaultInputModes: [...(facts.defaultInputModes ?? DEFAULT_MODES)],
    defaultOutputModes: [...(facts.defaultOutputModes ?? DEFAULT_MODES)],
    skills: skillsOf(facts),
    supportedInterfaces: interfacesOf(context),
    capabilities: { ...context.capabilities, extensions: [...extensions] },
    ...securityOf(context.securitySchemes),
  };
  return decodeJson(AgentCardSchema, json);
}

/** In order of preference (§8.3.1). */
function interfacesOf({ origin, path, tenant, versions }: CardContext): AgentInterfaceJson[] {
  const base = `${origin}${path}`;
  const grpc = new URL(origin);
  const authority = grpc.port === "" ? `${grpc.hostname}:${grpc.protocol === "https:" ? 443 : 80}` : grpc.host;
  return versions.flatMap((protocolVersion) =>
    [
      { url: base, protocolBinding: "JSONRPC" },
      { url: base, protocolBinding: "HTTP+JSON" },
      { url: authority, protocolBinding: "GRPC" },
      { url: origin, protocolBinding: CONNECT_BINDING },
      { url: origin, protocolBinding: GRPC_WEB_BINDING },
    ].map((one) => ({ ...one, protocolVersion, ...(tenant === "" ? {} : { tenant }) })),
  );
}

/** The id of the skill that the card of an agent without skills shows. */
export function madeSkillId(agentName: string): string {
  return (
    agentName
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "") || "main"
  );
}

/** REQUIRED lists and strings are never empty: a skill is made if there is none, names and tags default to the id. */
function skillsOf({ name, description, skills }: CardFacts): AgentSkillJson[] {
  const slug = madeSkillId(name);
  if (skills.length === 0) return [{ id: slug, name, description, tags: [slug] }];
  return skills.map((skill) => {
    const { id = slug, tags = [] } = skill;
    return { ...skill, id, name: skill.name ?? id, tags: tags.length === 0 ? [id] : tags };
  });
}

/** Any of the schemes will do (§4.5). */
function securityOf(
  schemes: CardContext["securitySchemes"],
): Pick<AgentCardJson, "securitySchemes" | "securityRequirements"> {
  const names = Object.keys(schemes);
  if (names.length === 0) return {};
  return {
    securitySchemes: { ...schemes },
    securityRequirements: names.map((name) => ({ schemes: { [name]: { list: [] } } })),
  };
}
