import { type CardContext, WELL_KNOWN_CARD } from "./a2a/agent-card.js";
import type { AgentCard } from "./a2a/types.js";
import { v1 } from "./a2a/v1.js";
import type { ServeOptions } from "./serve-options.js";
import { cardOf, type ServedAgent } from "./served-agents.js";

/** The cards of the agents of a server. */
export interface Cards {
  /** An agent's card, as callers who come directly see it. */
  of(agent: ServedAgent): AgentCard;
  /** What is served for a name, or for none; through a proxy with its address. Waits until it is known where the server listens. */
  text(name: string | undefined, forwardedOrigin: string | undefined): Promise<string | undefined>;
  list(): { readonly name: string; readonly cardUrl: string }[];
  /** The server listens there. */
  listensAt(origin: string): void;
}

/** Stands for the origin while nobody can have asked yet. */
const NOWHERE = "http://127.0.0.1";

/** @throws TypeError when an agent can't have a card, or `publicUrl` isn't a URL: before anything is opened. */
export function createCards(agents: readonly ServedAgent[], options: ServeOptions): Cards {
  let origin = withoutSlash(options.publicUrl ?? NOWHERE);
  if (!URL.canParse(origin)) throw new TypeError(`publicUrl must be a URL, not ${JSON.stringify(options.publicUrl)}`);
  const made = new Map(agents.map((one) => [one, cardOf(one, mounted(origin, options))]));
  let listens: () => void = () => {};
  const listening = new Promise<void>((resolve) => {
    listens = resolve;
  });
  const of = (agent: ServedAgent): AgentCard => made.get(agent) ?? cardOf(agent, mounted(origin, options));
  return {
    of,
    async text(name, forwardedOrigin) {
      const agent = agents.find((one) => (name === undefined ? one.tenant === "" : one.name === name));
      if (agent === undefined) return undefined;
      await listening;
      const elsewhere = options.publicUrl === undefined ? forwardedOrigin : undefined;
      const card = elsewhere === undefined ? of(agent) : cardOf(agent, mounted(elsewhere, options));
      return JSON.stringify(v1.writeCard(card));
    },
    list: () =>
      agents.map(({ name }) => ({
        name,
        cardUrl: `${origin}/agents/${encodeURIComponent(name)}${WELL_KNOWN_CARD}`,
      })),
    listensAt(address) {
      origin = withoutSlash(options.publicUrl ?? address);
      for (const one of agents) made.set(one, cardOf(one, mounted(origin, options)));
      listens();
    },
  };
}

/** What of the card is the server's to say. */
function mounted(origin: string, { path = "/a2a", auth, extendedCard }: ServeOptions): Omit<CardContext, "tenant"> {
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
