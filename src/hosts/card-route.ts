import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { A2AError } from "../a2a/errors.js";
import { refusal } from "../bindings/http-json/status.js";
import { refusalOf } from "../bindings/wire-error.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import { send } from "./fastify.js";
import { headersOf } from "./http.js";

/** Where an agent's card is, below its own path (§8.2, §14.3). */
export const WELL_KNOWN_CARD = "/.well-known/agent-card.json";

export interface CardRouteOptions {
  /**
   * The text of a public card.
   *
   * @param agent the name of the agent; `undefined` for the default one's.
   * @param version what `A2A-Version` says; `undefined` without.
   * @returns `undefined` if there is no such agent.
   */
  card(agent: string | undefined, version: string | undefined): string | undefined | Promise<string | undefined>;
  /** The names of the agents, with the addresses of their cards. For `GET /agents`. */
  agents?: (() => readonly { readonly name: string; readonly cardUrl: string }[]) | undefined;
  /** When the cards last changed, in milliseconds since the epoch. Default: now, once. */
  readonly cardsChangedAt?: number | undefined;
  /** How long a card may be kept, in seconds. Default 300. */
  readonly cardMaxAgeS?: number | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** Mounts the public cards (§8.2) with what caching needs (§8.6), open to pages of every origin; and the list of agents. */
export function addCardRoutes(app: FastifyInstance, options: CardRouteOptions): void {
  const lastModified = new Date(options.cardsChangedAt ?? options.runtime.now());
  const cacheControl = `public, max-age=${options.cardMaxAgeS ?? 300}`;

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { agent } = request.params as { readonly agent?: string };
    reply.headers({ "access-control-allow-origin": "*", "access-control-expose-headers": "etag", vary: "A2A-Version" });
    try {
      const card = await options.card(agent, headersOf(request.raw).get("a2a-version") ?? undefined);
      if (card === undefined) throw new A2AError("METHOD_NOT_FOUND", "There is no such agent");
      const etag = `"${createHash("sha256").update(card).digest("base64url")}"`;
      reply.headers({ etag, "cache-control": cacheControl, "last-modified": lastModified.toUTCString() });
      if (isFresh(request, etag, lastModified)) return reply.code(304).send();
      return reply.header("content-type", "application/json").send(Buffer.from(card));
    } catch (thrown) {
      return send(reply, refusal(refusalOf(thrown, options), headersOf(request.raw)));
    }
  }

  for (const url of [WELL_KNOWN_CARD, `/agents/:agent${WELL_KNOWN_CARD}`]) {
    app.route({ method: ["GET", "HEAD"], url, handler: answer });
    app.options(url, (_request, reply) =>
      reply
        .code(204)
        .headers({
          "access-control-allow-origin": "*",
          "access-control-allow-methods": "GET, HEAD",
          "access-control-allow-headers": "a2a-version, if-none-match",
          "access-control-max-age": "86400",
        })
        .send(),
    );
  }
  app.get("/agents", (_request, reply) => {
    const agents = (options.agents?.() ?? []).map(({ name, cardUrl }) => ({ name, card: cardUrl }));
    return reply.header("content-type", "application/json").send(Buffer.from(JSON.stringify({ agents })));
  });
}

/** Whether the caller's copy is still good (RFC 9110 §13). An entity tag outranks a date. */
function isFresh(request: FastifyRequest, etag: string, lastModified: Date): boolean {
  const tags = request.headers["if-none-match"];
  if (tags !== undefined)
    return tags.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
  const since = Date.parse(request.headers["if-modified-since"] ?? "");
  return since >= Math.floor(lastModified.getTime() / 1_000) * 1_000;
}
