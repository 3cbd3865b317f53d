/** `nuncio/client`: call any agent. */
import type { Call } from "./a2a/call.js";
import { A2AError } from "./a2a/errors.js";
import type { Decorator, Handler } from "./a2a/handler.js";
import { mapHandler, streamingOf, unaryOf } from "./a2a/map-handler.js";
import { RESUME_EXTENSION } from "./a2a/our-names.js";
import type { AgentCard, AgentCardJson } from "./a2a/types.js";
import { createHttpJsonClient } from "./bindings/http-json/client.js";
import { createJsonRpcClient } from "./bindings/jsonrpc/client.js";
import { patientFetch } from "./bindings/patient-fetch.js";
import { fetchAgentCard, readAgentCard } from "./client/agent-card.js";
import { type BindingName, type Chosen, chooseInterface } from "./client/choose-interface.js";
import { DEFAULT_TIMEOUT_MS, deadlineOf } from "./client/deadline.js";
import { callError } from "./client/outcome.js";
import { createPeer, type Peer } from "./client/peer.js";
import { systemRuntime } from "./runtime/runtime.js";
import { unreachable } from "./runtime/unreachable.js";

export { contentOf } from "./a2a/content.js";
export { A2AError } from "./a2a/errors.js";
export { type AgentCard, type Message, type Task, TaskState } from "./a2a/types.js";
export type { BindingName } from "./client/choose-interface.js";
export { CallError, type Outcome } from "./client/outcome.js";
export type { CallOptions, ListFilter, Peer, SendOptions, Talk } from "./client/peer.js";
export type { Reply } from "./client/reply.js";
export type { StreamEvent, TaskStream } from "./client/task-stream.js";

/** How to find an agent, and how to call it. */
export interface ConnectOptions {
  /** Which bindings may be used, the preferred one first. Default: all, in the card's order. */
  bindings?: readonly BindingName[] | undefined;
  /**
   * Sent with every request, the card's included: `authorization` and the like. Names in lower case. No redirect takes them to another
   * origin: a call isn't redirected at all, and where a card's is, it goes on without them.
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Extensions to activate on every call (§3.2.6). */
  extensions?: readonly ({ readonly uri: string } | string)[] | undefined;
  /** Decorators of the peer's handler, outermost first. */
  use?: readonly Decorator[] | undefined;
  /** For the card and the JSON bindings. Default: the global one, without limits of its own to how long an answer may take. */
  fetch?: typeof fetch | undefined;
  /** Aborts connecting; calls have signals of their own. */
  signal?: AbortSignal | undefined;
  /** How long the card may take to come, in milliseconds. Default 30 000. */
  timeoutMs?: number | undefined;
}

/**
 * Finds the agent's card and chooses an interface: the first of the card's that is ours (§8.3.2).
 * @throws CallError, `not-sent`: not an http(s) URL, no card, a bad one, or none of its interfaces is ours.
 */
export async function connect(
  target: string | URL | AgentCard | AgentCardJson,
  options: ConnectOptions = {},
): Promise<Peer> {
  const { headers = {}, use = [] } = options;
  const fetch = sayingWhy(options.fetch);
  try {
    const card = await cardOf(target, { ...options, fetch });
    const chosen = chooseInterface(card, options.bindings);
    const { handler, close } = await wireOf(chosen, { headers, fetch });
    const addressed = atInterface(handler, chosen, [...extensionsOf(options), ...offeredBy(card, chosen)]);
    return createPeer({
      card,
      handler: use.reduceRight((next, decorator) => decorator(next), addressed),
      runtime: systemRuntime,
      close,
    });
  } catch (error) {
    if (options.signal?.aborted) throw options.signal.reason;
    throw callError(error, "not-sent");
  }
}

/** `fetch failed` alone helps nobody. */
function sayingWhy(fetch = patientFetch): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (cause) {
      const message = unreachable(cause, input instanceof Request ? input.url : String(input));
      throw message === undefined ? cause : new A2AError("UNAVAILABLE", message, { cause });
    }
  };
}

async function cardOf(
  target: string | URL | AgentCard | AgentCardJson,
  { headers = {}, fetch, signal, timeoutMs = DEFAULT_TIMEOUT_MS }: ConnectOptions & { fetch: typeof globalThis.fetch },
): Promise<AgentCard> {
  if (typeof target !== "string" && !(target instanceof URL)) return readAgentCard(target);
  const url = addressOf(target);
  const deadline = deadlineOf(systemRuntime, signal, timeoutMs);
  try {
    return await fetchAgentCard(url, { fetch, headers: () => headers, signal: deadline.signal });
  } finally {
    deadline.clear();
  }
}

function addressOf(target: string | URL): URL {
  const written = String(target);
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new A2AError(
    "INVALID_PARAMS",
    `${JSON.stringify(written)} isn't the URL of an agent: it begins with http:// or https://`,
  );
}

interface Wire {
  readonly handler: Handler;
  close(): Promise<void>;
}

async function wireOf(
  { binding, interface: { url } }: Chosen,
  { headers, fetch }: { headers: Readonly<Record<string, string>>; fetch: typeof globalThis.fetch },
): Promise<Wire> {
  switch (binding) {
    case "jsonrpc":
      return { handler: createJsonRpcClient({ url, fetch, headers: () => headers }), close: async () => {} };
    case "http-json":
      return { handler: createHttpJsonClient({ url, fetch, headers: () => headers }), close: async () => {} };
    default: {
      const { createGrpcClient } = await import("./bindings/grpc/client.js"); // needs Node; the others run anywhere
      const client = createGrpcClient({ url, protocol: binding, headers: () => headers });
      return { handler: client.handler, close: async () => client.close() };
    }
  }
}

/** Says in every request what the chosen interface says: its tenant, exactly or not at all (§8.3.2). */
function atInterface(handler: Handler, { interface: { tenant } }: Chosen, extensions: readonly string[]): Handler {
  const addressed = (request: { readonly tenant: string }) => ({ ...request, tenant }) as never; // any request: each has a tenant
  const activated = (call: Call): Call =>
    extensions.length === 0 ? call : { ...call, extensions: [...new Set([...extensions, ...(call.extensions ?? [])])] };
  return mapHandler({
    unary: (key) => (request, call) => unaryOf(handler, key)(addressed(request), activated(call)),
    streaming: (key) => (request, call) => streamingOf(handler, key)(addressed(request), activated(call)),
  });
}

/** Event streams carry positions themselves; the other wires do where the peer offers it. */
function offeredBy({ capabilities }: AgentCard, { binding }: Chosen): string[] {
  if (binding === "jsonrpc" || binding === "http-json") return [];
  return capabilities?.extensions.some(({ uri }) => uri === RESUME_EXTENSION) ? [RESUME_EXTENSION] : [];
}

function extensionsOf({ extensions = [] }: ConnectOptions): string[] {
  return extensions.map((one) => (typeof one === "string" ? one : one.uri));
}
