import { WELL_KNOWN_CARD } from "../a2a/agent-card.js";
import { decodeJson } from "../a2a/codec.js";
import { A2AError } from "../a2a/errors.js";
import { type AgentCard, type AgentCardJson, AgentCardSchema } from "../a2a/types.js";
import { v1 } from "../a2a/v1.js";
import { DEFAULT_MAX_DEPTH, parseJson } from "../bindings/json.js";
import { readBody } from "../bindings/read-body.js";
import { HttpAnswer } from "../bindings/wire-error.js";

const MAX_CARD_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 5;

/** What a card is fetched with. */
export interface CardFetch {
  readonly fetch: typeof fetch;
  readonly headers: () => Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

/**
 * The card behind an address (§8.2): of a URL that ends in `.json`, there; else at the well-known path below it, and then at the
 * origin's, if that card has an interface at the address: a misspelt agent's name must not find another agent.
 * @throws A2AError when there is none, or it isn't one.
 */
export async function fetchAgentCard(target: URL, options: CardFetch): Promise<AgentCard> {
  const places = cardPlaces(target);
  let missing: A2AError | undefined;
  for (const place of places) {
    const response = await follow(place, options);
    if (response.ok) {
      const card = readAgentCard(await jsonOf(response, place), place);
      if (place === places[0] || isServedAt(card, target)) return card;
      break;
    }
    await response.body?.cancel();
    missing ??= new A2AError("INVALID_AGENT_RESPONSE", `There is no agent card at ${place} (HTTP ${response.status})`, {
      cause: new HttpAnswer(response),
    });
    if (response.status !== 404) break;
  }
  throw missing ?? new A2AError("INVALID_AGENT_RESPONSE", `There is no agent card at ${target.href}`);
}

/**
 * The answer at the end of all redirects. They are followed here because `fetch` would take the caller's headers along to another origin,
 * all but the few names that it knows; and because whoever can write into clear text could answer what was asked over TLS.
 */
async function follow(place: string, { fetch, headers, signal }: CardFetch): Promise<Response> {
  const ours = { accept: "application/json", "a2a-version": v1.id };
  const bounded = { signal: signal ?? null };
  let url = new URL(place);
  let isAtHome = true;
  for (let redirects = 0; ; redirects++) {
    const all = isAtHome ? { ...ours, ...headers() } : ours;
    const response = await fetch(url.href, { headers: all, redirect: "manual", ...bounded });
    // A browser follows, but doesn't say where to.
    if (response.type === "opaqueredirect") return fetch(url.href, { headers: ours, redirect: "follow", ...bounded });
    const next = redirectOf(response, url);
    if (next === undefined || redirects === MAX_REDIRECTS) return response;
    await response.body?.cancel();
    isAtHome &&= next.origin === url.origin;
    url = next;
  }
}

/** Where an answer sends who asked, unless that is nowhere, or from TLS to clear text. */
function redirectOf({ status, headers }: Response, from: URL): URL | undefined {
  const location = headers.get("location");
  if (![301, 302, 303, 307, 308].includes(status) || location === null || !URL.canParse(location, from.href))
    return undefined;
  const to = new URL(location, from);
  return to.protocol === "https:" || (to.protocol === "http:" && from.protocol === "http:") ? to : undefined;
}

/** A card given as an object: a message, or its ProtoJSON. */
export function readAgentCard(card: AgentCard | AgentCardJson | unknown, place = "the given card"): AgentCard {
  if (typeof card === "object" && card !== null && "$typeName" in card) return card as AgentCard;
  const read = decodeJson(AgentCardSchema, card, { from: "peer" });
  if (read.name !== "" && read.supportedInterfaces.length > 0) return read;
  throw new A2AError(
    "INVALID_AGENT_RESPONSE",
    `${place} isn't an A2A 1.0 agent card: it has no ${read.name === "" ? "name" : "supportedInterfaces"}`,
  );
}

/** Where the card behind an address may be. */
export function cardPlaces(target: URL): string[] {
  if (target.pathname.endsWith(".json")) return [target.href];
  const below = `${target.origin}${trimmed(target.pathname)}${WELL_KNOWN_CARD}`;
  return [...new Set([below, `${target.origin}${WELL_KNOWN_CARD}`])];
}

/** Whether a card has an interface at an address, or below it. */
export function isServedAt({ supportedInterfaces }: AgentCard, { pathname }: URL): boolean {
  const path = trimmed(pathname);
  return supportedInterfaces.some(({ url }) => {
    const served = URL.canParse(url) ? trimmed(new URL(url).pathname) : "";
    return served === path || served.startsWith(`${path}/`);
  });
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, "");
}

async function jsonOf(response: Response, place: string): Promise<unknown> {
  const bytes = await readBody(response.body, MAX_CARD_BYTES);
  if (bytes === undefined)
    throw new A2AError("INVALID_AGENT_RESPONSE", `The answer at ${place} is too large for an agent card`);
  try {
    return parseJson(bytes, DEFAULT_MAX_DEPTH);
  } catch (cause) {
    throw new A2AError("INVALID_AGENT_RESPONSE", `The answer at ${place} isn't JSON, so it isn't an agent card`, {
      cause,
    });
  }
}
