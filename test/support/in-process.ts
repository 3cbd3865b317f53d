import type { Message } from "@bufbuild/protobuf";
import { violationsOf } from "../../src/a2a/codec.js";
import { invalidParams } from "../../src/a2a/errors.js";
import type { Handler } from "../../src/a2a/handler.js";
import { mapHandler, streamingOf, unaryOf } from "../../src/a2a/map-handler.js";
import { A2AService } from "../../src/a2a/types.js";
import { startWorker } from "../../src/agent/worker.js";
import { openSqlJournal } from "../../src/journal/open.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { systemRuntime } from "../../src/runtime/runtime.js";
import { handlerOf, servedAgents } from "../../src/served-agents.js";
import { createCards } from "../../src/served-cards.js";
import type { Subject } from "../contract/handler.js";
import { scripted } from "./scripted-agent.js";
import { extended } from "./serving.js";

/** The scripted agent without any wire: the core, the worker and a journal in memory. */
export async function inProcess(): Promise<Subject> {
  const runtime = systemRuntime;
  const logger = silentLogger;
  const journal = await openSqlJournal({ target: "memory:", runtime, logger });
  const agents = servedAgents(scripted);
  const cards = createCards(agents, { extendedCard: extended });
  const core = handlerOf(agents, {
    journal,
    runtime,
    logger,
    cancelGraceMs: 200,
    streamAtInputRequired: "close",
    extendedCard: { card: extended, anonymous: false },
    ownerOf: ({ id }) => id,
    card: cards.of,
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

/** Judges each request by the contract first, as a wire does when it decodes one (§5.7): for a Handler that is called in process. */
function judged(handler: Handler): Handler {
  const judge = (key: keyof Handler, request: Message): void => {
    const violations = violationsOf(A2AService.method[key].input, request);
    if (violations.length > 0) throw invalidParams(violations);
  };
  return mapHandler({
    unary: (key) => async (request, call) => {
      judge(key, request);
      return unaryOf(handler, key)(request, call);
    },
    streaming: (key) =>
      async function* (request, call) {
        judge(key, request);
        yield* streamingOf(handler, key)(request, call);
      },
  });
}
