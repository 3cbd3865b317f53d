import { serve } from "nuncio";
import type { BindingName } from "nuncio/client";
import type { Call } from "../../src/a2a/call.js";
import type { Handler } from "../../src/a2a/handler.js";
import { createGrpcClient } from "../../src/bindings/grpc/client.js";
import { createHttpJsonClient } from "../../src/bindings/http-json/client.js";
import { createJsonRpcClient } from "../../src/bindings/jsonrpc/client.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { scripted } from "../support/scripted-agent.js";
import { byHeader, extended } from "../support/serving.js";
import { BINDINGS } from "../support/small-agents.js";

/** One server, asked over each of its wires. */
export interface EveryWire {
  readonly url: string;
  /** What was logged as an error, the agent's own faults left out. */
  readonly errors: readonly object[];
  /**
   * The operations over a wire, asked by a user. A request goes out as it is: nothing about it is mended or judged first. The parameters
   * of a call are headers as they are, `a2a-version` included.
   */
  over(binding: BindingName, user: string): Handler;
  close(): Promise<void>;
}

/**
 * Serves the scripted agent. Default: callers say who they are; without `auth`, everybody is the same one. With `several`, it is the
 * default of two agents, and tenants mean something.
 */
export async function everyWire({
  auth = true,
  several = false,
}: {
  auth?: boolean;
  several?: boolean;
} = {}): Promise<EveryWire> {
  const errors: object[] = [];
  const logger = {
    ...silentLogger,
    error: (details: object, message?: string) =>
      void (message === "A run failed" || errors.push({ message, ...details })),
  };
  const agents = several ? { agents: { scripted, other: scripted }, default: "scripted" } : scripted;
  const server = await serve(agents, {
    port: 0,
    journal: "memory:",
    logger,
    ...(auth ? { auth: byHeader, extendedCard: extended } : {}),
    cancelGraceMs: 100,
    drainMs: 200,
    pingIntervalMs: 500, // a session that is broken is let go of
    heartbeatMs: 500, // a caller that has closed its half and then gone is noticed by the next one
  });
  const clients: { close(): void }[] = [];
  return {
    url: server.url,
    errors,
    over(binding, user) {
      const headers = ({ parameters }: Call) => ({ "x-user": user, ...parameters });
      const url = `${server.url}/a2a`;
      if (binding === "jsonrpc") return createJsonRpcClient({ url, headers });
      if (binding === "http-json") return createHttpJsonClient({ url, headers });
      const client = createGrpcClient({ url: server.url, protocol: binding, headers });
      clients.push(client);
      return client.handler;
    },
    async close() {
      for (const client of clients) client.close();
      await server.close();
    },
  };
}

/** Every wire, by name. */
export const wires: readonly BindingName[] = BINDINGS;
