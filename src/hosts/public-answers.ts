import { A2AError } from "../a2a/errors.js";
import type { RequestHeaders, WireResponse } from "../bindings/binding.js";
import { refusal } from "../bindings/http-json/status.js";
import { refusalOf } from "../bindings/wire-error.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";

/** Where the answers come from. */
export interface PublicAnswersOptions {
  /**
   * The text of a public card.
   *
   * @param agent the name of the agent; `undefined` for the default one's.
   * @param version what `A2A-Version` says; `undefined` without.
   * @param origin where a trusted proxy says that callers reach this server; `undefined` if none does.
   * @returns `undefined` if there is no such agent.
   */
  card(
    agent: string | undefined,
    version: string | undefined,
    origin: string | undefined,
  ): string | undefined | Promise<string | undefined>;
  /** The names of the agents, with the addresses of their cards, as seen from `origin`. For `GET /agents`. */
  agents?: ((origin: string | undefined) => readonly { readonly name: string; readonly card: string }[]) | undefined;
  /** When the cards last changed, in milliseconds since the epoch. Default: now, once. */
  readonly cardsChangedAt?: number | undefined;
  /** How long a card may be kept, in seconds. Default 300. */
  readonly cardMaxAgeS?: number | undefined;
  /** Whether the server can do its work (`/readyz`). Default: yes. */
  ready?: (() => Promise<boolean>) | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** What everybody may ask, whichever host carries it. None of them throws. */
export interface PublicAnswers {
  /** A card (§8.2) with what caching needs (§8.6), open to pages of every origin. */
  card(agent: string | undefined, headers: RequestHeaders, origin?: string): Promise<WireResponse>;
  /** What a browser asks before it asks for a card of a version. */
  preflight(): WireResponse;
  /** All agents, with the addresses of their cards. */
  agents(origin?: string): WireResponse;
  /** The process answers. */
  health(): WireResponse;
  /** The server can work, and isn't about to stop. */
  readiness(draining: boolean): Promise<WireResponse>;
}

const FORWARDED = "X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Prefix";
const openToAll = { "access-control-allow-origin": "*" };

/** The same answers for every host. */
export function createPublicAnswers(options: PublicAnswersOptions): PublicAnswers {
  const { card: cardOf, agents, ready, runtime, cardsChangedAt = runtime.now(), cardMaxAgeS = 300 } = options;
  const changedAt = new Date(cardsChangedAt);

  async function card(agent: string | undefined, headers: RequestHeaders, origin?: string): Promise<WireResponse> {
    const vary = origin === undefined ? "A2A-Version" : `A2A-Version, ${FORWARDED}`;
    const always = { ...openToAll, "access-control-expose-headers": "etag", vary };
    try {
      const text = await cardOf(agent, headers.get("a2a-version") ?? undefined, origin);
      if (text === undefined) throw new A2AError("METHOD_NOT_FOUND", "There is no such agent");
      const etag = await etagOf(text);
      const cached = {
        ...always,
        etag,
        "cache-control": `public, max-age=${cardMaxAgeS}`,
        "last-modified": changedAt.toUTCString(),
      };
      if (isFresh(headers, etag, changedAt)) return { status: 304, headers: cached, body: "" };
      return { status: 200, headers: { ...cached, "content-type": "application/json" }, body: text };
    } catch (thrown) {
      const refused = refusal(refusalOf(thrown, options), headers);
      return { ...refused, headers: { ...always, ...refused.headers } };
    }
  }

  return {
    card,
    preflight: () => ({
      status: 204,
      headers: {
        ...openToAll,
        "access-control-allow-methods": "GET, HEAD",
        "access-control-allow-headers": "a2a-version, if-none-match",
        "access-control-max-age": "86400",
      },
      body: "",
    }),
    agents: (origin) => json(200, { agents: agents?.(origin) ?? [] }),
    health: () => json(200, { status: "ok" }),
    async readiness(draining) {
      if (draining) return json(503, { status: "draining" });
      const isReady = ready === undefined || (await ready().catch(() => false));
      return isReady ? json(200, { status: "ready" }) : json(503, { status: "not ready" });
    },
  };
}

function json(status: number, value: object): WireResponse {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

async function etagOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `"${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
}

/** Whether the caller's copy is still good (RFC 9110 §13). An entity tag outranks a date. */
function isFresh(headers: RequestHeaders, etag: string, changedAt: Date): boolean {
  const tags = headers.get("if-none-match")?.split(",");
  if (tags !== undefined) return tags.some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
  const since = Date.parse(headers.get("if-modified-since") ?? "");
  return since >= Math.floor(changedAt.getTime() / 1_000) * 1_000;
}
