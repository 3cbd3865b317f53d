import { judged, mapHandler, streamingOf, unaryOf } from "../../src/a2a/route.js";
import { startWorker } from "../../src/agent/worker.js";
import { openSqlJournal } from "../../src/journal/open.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { systemRuntime } from "../../src/runtime/runtime.js";
import { cardOf, handlerOf, servedAgents } from "../../src/served-agents.js";
import type { Subject } from "../contract/handler.js";
import { scripted } from "./scripted-agent.js";
import { extended } from "./serving.js";

/** The scripted agent without any wire: the core, the worker and a journal in memory. */
export async function inProcess(): Promise<Subject> {
  const runtime = systemRuntime;
  const logger = silentLogger;
  const journal = await openSqlJournal({ target: "memory:", runtime, logger });
  const agents = servedAgents(scripted);
  const mounted = {
    origin: "http://127.0.0.1",
    path: "/a2a",
    versions: ["1.0"],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
    securitySchemes: {},
  };
  const core = handlerOf(agents, {
    journal,
    runtime,
    logger,
    cancelGraceMs: 200,
    streamAtInputRequired: "close",
    extendedCard: { card: extended, anonymous: false },
    ownerOf: ({ id }) => id,
    card: (one) => cardOf(one, mounted),
  });
  const handler = judged(core);
  const worker = startWorker({
    journal,
    runtime,
    logger,
    agents: new Map(agents.map(({ name, agent }) => [name, agent])),
  });
  return {
    as: (id) =>
      mapHandler({
        unary: (key) => (request, call) => unaryOf(handler, key)(request, { ...call, principal: { id } }),
        streaming: (key) => (request, call) => streamingOf(handler, key)(request, { ...call, principal: { id } }),
      }),
    async close() {
      await worker.drain(0);
      await journal.close();
    },
  };
}
