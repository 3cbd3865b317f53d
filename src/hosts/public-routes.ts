import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { WELL_KNOWN_CARD } from "../a2a/agent-card.js";
import { send } from "./fastify.js";
import type { ForwardedOrigin } from "./forwarded.js";
import { readHeaders } from "./http.js";
import type { PublicAnswers } from "./public-answers.js";

/** Mounts the public cards and the list of agents. */
export function addCardRoutes(app: FastifyInstance, answers: PublicAnswers, originOf: ForwardedOrigin): void {
  const card = async (request: FastifyRequest, reply: FastifyReply) => {
    const { agent } = request.params as { readonly agent?: string };
    return send(reply, await answers.card(agent, readHeaders(request.raw), originOf(request.raw)));
  };
  for (const url of [WELL_KNOWN_CARD, `/agents/:agent${WELL_KNOWN_CARD}`]) {
    app.route({ method: ["GET", "HEAD"], url, handler: card });
    app.options(url, (_request, reply) => send(reply, answers.preflight()));
  }
  app.route({
    method: ["GET", "HEAD"],
    url: "/agents",
    handler: (request, reply) => send(reply, answers.agents(originOf(request.raw))),
  });
}

/** Mounts the two questions of an orchestrator. */
export function addHealthRoutes(app: FastifyInstance, answers: PublicAnswers, draining: AbortSignal): void {
  const method = ["GET", "HEAD"];
  app.route({ method, url: "/healthz", handler: (_request, reply) => send(reply, answers.health()) });
  app.route({
    method,
    url: "/readyz",
    handler: async (_request, reply) => send(reply, await answers.readiness(draining.aborted)),
  });
}
