import { conforming } from "./a2a/conforming.js";
import type { Handler } from "./a2a/handler.js";
import { withPositions } from "./a2a/position.js";
import { routeByTenant } from "./a2a/route-by-tenant.js";
import type { AgentCard } from "./a2a/types.js";
import { type DefinedAgent, definedAgent, versionOf } from "./agent/agent.js";
import { implementedHandler } from "./agent/implemented.js";
import { canReply, canRun, chooseSkill, reply } from "./agent/respond.js";
import type { Core } from "./core/core.js";
import { createHandler } from "./core/handler.js";
import { judging } from "./core/judge.js";
import { type OwnerOf, scopeOf } from "./core/ownership.js";
import type { Served } from "./serve-options.js";
import { refusalsOf, refusing } from "./served-refusals.js";

/** An agent with its place on the server. */
export interface ServedAgent {
  readonly name: string;
  /** What a request's tenant must be; `""` for the default one, which is also reached by its name. */
  readonly tenant: string;
  readonly agent: DefinedAgent;
}

/** @throws TypeError for what isn't an agent, and for names that can't be a path. */
export function servedAgents(served: Served): readonly ServedAgent[] {
  if (typeof served !== "object" || served === null || !("agents" in served)) {
    const agent = definedAgent(served);
    return [{ name: agent.name, tenant: "", agent }];
  }
  const several: unknown = served.agents;
  if (typeof several !== "object" || several === null || Array.isArray(several))
    throw new TypeError("agents must be an object that gives each agent its name: serve({ agents: { hello, trip } })");
  const names = Object.keys(served.agents);
  const first = served.default ?? names[0];
  if (first === undefined || !names.includes(first))
    throw new TypeError(`The default agent must be one of ${names.join(", ") || "the agents, and there are none"}`);
  return names.map((name) => {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name))
      throw new TypeError(`An agent can't be called ${JSON.stringify(name)}: use letters, digits, -, _ and .`);
    if (RESERVED.has(name))
      throw new TypeError(`An agent can't be called ${name}, which is a path of HTTP+JSON: choose another name`);
    return { name, tenant: name === first ? "" : name, agent: definedAgent(served.agents[name]) };
  });
}

/** Something of each agent, by what a request may name it with: its tenant and, where there are several, its name. */
export function byTenant<T>(agents: readonly ServedAgent[], of: (agent: ServedAgent) => T): ReadonlyMap<string, T> {
  const made = new Map<string, T>();
  for (const served of agents) {
    const its = of(served);
    made.set(served.tenant, its);
    if (agents.length > 1) made.set(served.name, its);
  }
  return made;
}

/** Would be taken for a path of the HTTP+JSON binding. */
const RESERVED: ReadonlySet<string> = new Set(["v1", "tasks", "extendedAgentCard"]);

/** What the cores of all agents share. */
export interface SharedCore extends Omit<Core, "responder" | "scopeOf"> {
  readonly ownerOf: OwnerOf;
  card(served: ServedAgent): AgentCard;
}

/** One Handler for all agents: each answers under its tenant, the default one also without. */
export function handlerOf(agents: readonly ServedAgent[], core: SharedCore): Handler {
  return routeByTenant(byTenant(agents, (one) => refusing(refusalsOf(core.card(one)), agentHandler(one, core))));
}

function agentHandler(served: ServedAgent, { ownerOf, card, ...core }: SharedCore): Handler {
  const { agent, name, tenant } = served;
  if (agent.definition.handler !== undefined)
    return judging(conforming(implementedHandler(agent.definition.handler)), () => card(served));
  const handler = createHandler({
    ...core,
    scopeOf: (call) => scopeOf(tenant, call, ownerOf),
    responder: {
      name,
      version: versionOf(agent),
      runs: canRun(agent),
      replies: canReply(agent),
      card: () => card(served),
      choose: (message) => chooseSkill(agent, message),
      reply: (skill, message, call) => reply(agent, skill, message, call),
    },
  });
  return withPositions(handler);
}
