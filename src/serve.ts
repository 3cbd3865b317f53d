import { isIP } from "node:net";
import { hostname } from "node:os";
import type { Handler } from "./a2a/handler.js";
import type { AgentCard } from "./a2a/types.js";
import { v1 } from "./a2a/v1.js";
import { startWorker } from "./agent/worker.js";
import type { BindingContext } from "./bindings/binding.js";
import { createGrpcBinding } from "./bindings/grpc/server.js";
import { createHttpJsonBinding } from "./bindings/http-json/server.js";
import { createJsonRpcBinding } from "./bindings/jsonrpc/server.js";
import type { Journal } from "./journal/journal.js";
import type { Logger } from "./runtime/logger.js";
import { systemRuntime } from "./runtime/runtime.js";
import { challengesOf, createAuthenticate } from "./security/authenticators.js";
import type { Served, ServeOptions, Server } from "./serve-options.js";
import { cardOf, handlerOf, type ServedAgent, servedAgents } from "./served-agents.js";

const DEFAULT_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Serves agents on one port: JSON-RPC, HTTP+JSON, gRPC, gRPC-Web and Connect; the card, health.
 * @throws TypeError when `host` isn't loopback and `auth` is left out: say `auth: "anonymous"` if you mean it.
 * @throws the system's error when the port is taken, and the journal's when it can't be opened.
 */
export async function serve(served: Served, options: ServeOptions = {}): Promise<Server> {
  const {
    port = 8080,
    host = "127.0.0.1",
    path = "/a2a",
    drainMs = 10_000,
    cancelGraceMs = 5_000,
    runtime = systemRuntime,
  } = options;
  const agents = servedAgents(served);
  assertGuarded(host, options);
  for (const one of agents) cardOf(one, mounted("", path, options)); // refused before anything is opened
  const logger = options.logger ?? (await defaultLogger());
  const { journal, closeJournal } = await journalOf(options, logger);
  const draining = new AbortController();
  let origin = "";
  const cards = new Map<string, AgentCard>();
  const card = (one: ServedAgent): AgentCard => {
    const known = cards.get(one.name);
    if (known !== undefined) return known;
    const made = cardOf(one, mounted(origin, path, options));
    if (origin !== "") cards.set(one.name, made);
    return made;
  };

  const handler = decorated(
    handlerOf(agents, {
      journal,
      runtime,
      logger,
      cancelGraceMs,
      card,
      ownerOf: options.ownerOf ?? (({ id }) => id),
      streamAtInputRequired: options.streamAtInputRequired ?? "close",
      extendedCard: extendedCardOf(options),
    }),
    options,
  );
  const context = bindingContext(handler, agents, { options, logger, draining });
  const { createHost } = await import("./hosts/host.js");
  const bound = await createHost({
    jsonRpc: createJsonRpcBinding(context),
    httpJson: createHttpJsonBinding(context),
    rpc: createGrpcBinding(context),
    path,
    maxBodyBytes: context.maxBodyBytes,
    runtime,
    logger,
    draining,
    ready: () => journal.ready(),
    tls: options.tls,
    trustedProxies: options.trustedProxies,
    card: (name) => {
      const one =
        name === undefined ? agents.find(({ tenant }) => tenant === "") : agents.find((known) => known.name === name);
      return one === undefined ? undefined : JSON.stringify(v1.writeCard(card(one)));
    },
    agents: () =>
      agents.map(({ name }) => ({
        name,
        cardUrl: `${origin}/agents/${encodeURIComponent(name)}/.well-known/agent-card.json`,
      })),
  });
  let listening: { readonly port: number };
  try {
    listening = await bound.listen({ port, host });
  } catch (error) {
    await closeJournal();
    throw error;
  }
  const scheme = options.tls === undefined ? "http" : "https";
  const url = `${scheme}://${authority(host, listening.port)}`;
  origin = (options.publicUrl ?? `${scheme}://${authority(reachable(host), listening.port)}`).replace(/\/+$/, "");
  const worker = startWorker({
    journal,
    runtime,
    logger,
    agents: new Map(agents.map(({ name, agent }) => [name, agent])),
    maxRuns: options.limits?.runningTasks,
    graceMs: Math.min(cancelGraceMs, drainMs / 5),
  });

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    // Runs are told to stop a little earlier than connections are cut, so that who waits hears how they ended.
    await Promise.all([bound.drain(drainMs), worker.drain(drainMs * 0.7)]);
    await closeJournal();
  };
  const first = agents.find(({ tenant }) => tenant === "") as ServedAgent; // servedAgents sees to it
  const closeOnce = (): Promise<void> => {
    closing ??= close();
    return closing;
  };
  return { url, card: card(first), close: closeOnce, [Symbol.asyncDispose]: closeOnce };
}

function mounted(origin: string, path: string, { auth, extendedCard }: ServeOptions) {
  const schemes =
    typeof auth === "object" ? Object.entries(auth).map(([name, { scheme }]) => [name, scheme] as const) : [];
  return {
    origin: origin === "" ? "http://127.0.0.1" : origin,
    path,
    versions: [v1.id],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: extendedCard !== undefined },
    securitySchemes: Object.fromEntries(schemes),
  };
}

function bindingContext(
  handler: Handler,
  agents: readonly ServedAgent[],
  { options, logger, draining }: { options: ServeOptions; logger: Logger; draining: AbortController },
): BindingContext {
  const auth = typeof options.auth === "object" ? options.auth : undefined;
  return {
    handler,
    versions: [v1],
    authenticate: createAuthenticate(auth),
    challenges: challengesOf(auth),
    tenants: agents.length > 1 ? new Set(agents.map(({ name }) => name)) : undefined,
    runtime: options.runtime ?? systemRuntime,
    logger,
    maxBodyBytes: options.limits?.bodyBytes ?? DEFAULT_BODY_BYTES,
    maxDepth: options.limits?.nesting ?? 100,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    draining: draining.signal,
  };
}

function decorated(handler: Handler, { use = [] }: ServeOptions): Handler {
  return use.reduceRight((next, decorator) => decorator(next), handler);
}

function extendedCardOf({ extendedCard }: ServeOptions) {
  if (extendedCard === undefined) return undefined;
  return typeof extendedCard === "function"
    ? { card: extendedCard, anonymous: false }
    : { card: extendedCard.card, anonymous: extendedCard.anonymous ?? false };
}

async function journalOf(
  { journal, runtime = systemRuntime }: ServeOptions,
  logger: Logger,
): Promise<{ journal: Journal; closeJournal: () => Promise<void> }> {
  if (typeof journal === "object") return { journal, closeJournal: async () => {} };
  if (journal === undefined)
    logger.warn(
      {},
      'Tasks are kept in memory and are gone when the process ends; say journal: "sqlite:FILE" to keep them',
    );
  const { openSqlJournal } = await import("./journal/open.js");
  const opened = await openSqlJournal({ target: journal ?? "memory:", runtime, logger });
  return { journal: opened, closeJournal: () => opened.close() };
}

async function defaultLogger(): Promise<Logger> {
  const { pino } = await import("pino");
  const logger: Logger = pino({ level: "warn" }, pino.destination({ dest: 2, sync: true }));
  return logger;
}

/** A server that others can reach says who may call it. */
function assertGuarded(host: string, { auth }: ServeOptions): void {
  if (auth !== undefined || isLoopback(host)) return;
  throw new TypeError(
    `${host} isn't loopback, so others can reach this server: say who may call it with auth, or auth: "anonymous" if you mean everybody`,
  );
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** A card can't say "every address". */
function reachable(host: string): string {
  return host === "0.0.0.0" || host === "::" ? hostname() : host;
}

function authority(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
