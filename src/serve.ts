import { isIP } from "node:net";
import { hostname } from "node:os";
import type { Handler } from "./a2a/handler.js";
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
import { defaults, type Served, type ServeOptions, type Server } from "./serve-options.js";
import { byTenant, handlerOf, type ServedAgent, servedAgents } from "./served-agents.js";
import { type Cards, createCards } from "./served-cards.js";
import { refusalsOf } from "./served-refusals.js";

/**
 * Of `drainMs`: how long runs may go on, and then their grace time. With half a grace time more, for the journal, both end when
 * connections are cut, so that who waits hears how they ended.
 */
const RUNS_SHARE = 0.7;
const GRACE_SHARE = 0.2;

/**
 * Serves agents on one port: JSON-RPC, HTTP+JSON, gRPC, gRPC-Web and Connect; the card, health.
 * @throws TypeError when `port` isn't one; when `host` isn't loopback and `auth` is left out (say `auth: "anonymous"` if you mean it); for what isn't an
 * agent, or can't have a card.
 * @throws Error when the port is taken, with the system's as its `cause` and the same `code`; the system's error when it can't listen
 * otherwise, and the journal's when it can't be opened.
 */
export async function serve(served: Served, options: ServeOptions = {}): Promise<Server> {
  const { host = defaults.host, drainMs = defaults.drainMs } = options;
  const agents = servedAgents(served);
  assertPort(options);
  assertGuarded(host, options);
  const cards = createCards(agents, options);
  const logger = options.logger ?? (await defaultLogger());
  warnOfPlainText(host, options, logger);
  const { journal, closeJournal } = await journalOf(options, logger);
  const bound = await listen({ agents, cards, journal, logger, options }).catch(async (error: unknown) => {
    await closeJournal();
    throw error;
  });
  const worker = startWorker({
    journal,
    runtime: options.runtime ?? systemRuntime,
    logger,
    agents: new Map(agents.map(({ name, agent }) => [name, agent])),
    maxRuns: options.limits?.runningTasks,
    graceMs: Math.min(options.cancelGraceMs ?? defaults.cancelGraceMs, drainMs * GRACE_SHARE),
  });

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= shutDown([bound.drain(drainMs), worker.drain(drainMs * RUNS_SHARE)], closeJournal);
    return closing;
  };
  const first = agents.find(({ tenant }) => tenant === "") as ServedAgent; // servedAgents sees to it
  return { url: bound.url, card: cards.of(first), close, [Symbol.asyncDispose]: close };
}

/** Closes the journal last, and in any case. @throws the first error that there was. */
async function shutDown(draining: readonly Promise<void>[], closeJournal: () => Promise<void>): Promise<void> {
  const drained = await Promise.allSettled(draining);
  const closed = await Promise.allSettled([closeJournal()]);
  const failed = [...drained, ...closed].find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

interface Parts {
  readonly agents: readonly ServedAgent[];
  readonly cards: Cards;
  readonly journal: Journal;
  readonly logger: Logger;
  readonly options: ServeOptions;
}

/** All bindings over one handler, on one port. */
async function listen(parts: Parts): Promise<{ readonly url: string; drain(deadlineMs: number): Promise<void> }> {
  const { cards, journal, options } = parts;
  const { port = defaults.port, host = defaults.host, path = defaults.path, tls, trustedProxies } = options;
  const draining = new AbortController();
  const context = bindingContext(parts, draining.signal);
  const { createHost } = await import("./hosts/host.js");
  const bound = await createHost({
    jsonRpc: createJsonRpcBinding(context),
    httpJson: createHttpJsonBinding(context),
    rpc: createGrpcBinding(context),
    path,
    maxBodyBytes: context.maxBodyBytes,
    runtime: context.runtime,
    logger: context.logger,
    draining,
    requestTimeoutMs: options.limits?.requestTimeoutMs,
    pingIntervalMs: options.pingIntervalMs,
    ready: () => journal.ready(),
    tls: tls && { cert: pemOf(tls.cert), key: pemOf(tls.key), ca: tls.ca && pemOf(tls.ca) },
    trustedProxies,
    card: (name, _version, origin) => cards.text(name, origin),
    agents: cards.list,
  });
  const { port: listening } = await bound.listen({ port, host }).catch((error: unknown) => {
    throw isTaken(error) ? taken(authority(host, port), error) : error;
  });
  const scheme = tls === undefined ? "http" : "https";
  cards.listensAt(`${scheme}://${authority(reachable(host), listening)}`);
  return { url: `${scheme}://${authority(host, listening)}`, drain: bound.drain };
}

/** As Node's types want it. */
function pemOf(pem: string | Uint8Array): string | Buffer {
  return typeof pem === "string" ? pem : Buffer.from(pem);
}

function bindingContext({ agents, cards, journal, logger, options }: Parts, draining: AbortSignal): BindingContext {
  const { runtime = systemRuntime, limits = {} } = options;
  const auth = typeof options.auth === "object" ? options.auth : undefined;
  const handler = handlerOf(agents, {
    journal,
    runtime,
    logger,
    card: cards.of,
    cancelGraceMs: options.cancelGraceMs ?? defaults.cancelGraceMs,
    ownerOf: options.ownerOf ?? (({ id }) => id),
    streamAtInputRequired: options.streamAtInputRequired ?? "close",
    extendedCard: extendedCardOf(options),
  });
  const refusals = byTenant(agents, (one) => refusalsOf(cards.of(one)));
  return {
    handler: decorated(handler, options),
    versions: [v1],
    authenticate: createAuthenticate(auth, logger),
    challenges: challengesOf(auth),
    extensionsOf: cards.extensionsOf,
    refuses: (tenant, operation, extensions) => refusals.get(tenant)?.(operation, extensions),
    tenants: agents.length > 1,
    runtime,
    logger,
    maxBodyBytes: limits.bodyBytes ?? defaults.bodyBytes,
    maxDepth: limits.nesting ?? defaults.nesting,
    heartbeatMs: options.heartbeatMs ?? defaults.heartbeatMs,
    draining,
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

function assertPort({ port = defaults.port }: ServeOptions): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return;
  const given = typeof port === "number" ? String(port) : JSON.stringify(port);
  throw new TypeError(`port must be a whole number from 0 to 65535, not ${given}`);
}

function isTaken(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && error.code === "EADDRINUSE";
}

function taken(address: string, cause: Error & { readonly code: string }): Error {
  const message = `${address} is taken; choose another port, or port: 0 for a free one`;
  return Object.assign(new Error(message, { cause }), { code: cause.code });
}

/** A server that others can reach says who may call it. */
function assertGuarded(host: string, { auth }: ServeOptions): void {
  if (auth !== undefined || isLoopback(host)) return;
  throw new TypeError(
    `${host} isn't loopback, so others can reach this server: say who may call it with auth, or auth: "anonymous" if you mean everybody`,
  );
}

function warnOfPlainText(host: string, { tls, trustedProxies = [] }: ServeOptions, logger: Logger): void {
  if (isLoopback(host) || tls !== undefined || trustedProxies.length > 0) return;
  logger.warn({ host }, "Others reach this server in clear text; set tls, or trustedProxies if a proxy ends it");
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
