import { type Authenticators, type Handler, type Principal, serve } from "nuncio";
import { type BindingName, connect } from "nuncio/client";
import { silentLogger } from "../../src/runtime/logger.js";
import type { Subject } from "../contract/handler.js";
import { scripted } from "./scripted-agent.js";

/** Who is asking says so in a header. For tests alone. */
export const byHeader: Authenticators = {
  user: {
    type: "custom",
    scheme: { apiKeySecurityScheme: { location: "header", name: "x-user" } },
    authenticate: ({ headers }) => {
      const id = headers.get("x-user");
      return id === null ? undefined : { id };
    },
  },
};

export const extended = (principal: Principal, card: object) => ({
  ...card,
  description: `Extended for ${principal.id}`,
});

/** The scripted agent behind a real port, called over one binding. */
export async function overTheWire(binding: BindingName): Promise<Subject> {
  const server = await serve(scripted, {
    port: 0,
    journal: "memory:",
    logger: silentLogger, // the agent fails on purpose
    auth: byHeader,
    extendedCard: extended,
    cancelGraceMs: 200,
    drainMs: 500,
  });
  const peers = await Promise.all(
    ["ann", "bob"].map(
      async (user) => [user, await connect(server.url, { bindings: [binding], headers: { "x-user": user } })] as const,
    ),
  );
  const handlers = new Map<string, Handler>(peers.map(([user, { handler }]) => [user, handler]));
  return {
    as(user) {
      const handler = handlers.get(user);
      if (handler === undefined) throw new Error(`Nobody is called ${user}`);
      return handler;
    },
    async close() {
      for (const [, peer] of peers) await peer[Symbol.asyncDispose]();
      await server.close();
    },
  };
}
