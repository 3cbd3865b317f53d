/// <reference lib="esnext.disposable" preserve="true" />
import type { Principal } from "./a2a/call.js";
import type { Decorator } from "./a2a/handler.js";
import type { AgentCard, AgentCardJson } from "./a2a/types.js";
import type { Agent } from "./agent/agent.js";
import type { Journal } from "./journal/journal.js";
import type { Logger } from "./runtime/logger.js";
import type { Runtime } from "./runtime/runtime.js";
import type { Authenticators } from "./security/authenticators.js";

/** One agent, or several with their own cards below `/agents/<name>`. */
export type Served =
  | Agent
  | { readonly agents: Readonly<Record<string, Agent>>; readonly default?: string | undefined };

/** What `serve` takes where nothing is said. Durations in milliseconds. */
export const defaults = {
  port: 8080,
  host: "127.0.0.1",
  path: "/a2a",
  bodyBytes: 16 * 1024 * 1024,
  nesting: 100,
  cancelGraceMs: 5_000,
  drainMs: 10_000,
  heartbeatMs: 15_000,
} as const;

/** How to serve. */
export interface ServeOptions {
  /** Default 8080; 0 takes a free one. */
  port?: number | undefined;
  /** Default `127.0.0.1`. Any other that isn't loopback needs `auth`. */
  host?: string | undefined;
  /** Then everything is TLS, HTTP/2 by ALPN. Default: clear text. */
  tls?: Pem | undefined;
  /** `memory:`, `sqlite:FILE`, or an open journal. Default `memory:`, with a warning. */
  journal?: string | Journal | undefined;
  /** Where the JSON bindings are. Default `/a2a`. */
  path?: string | undefined;
  /** What the card says its address is. Default: the one it listens at. */
  publicUrl?: string | undefined;
  /** Who may call, by scheme name: any of them will do. `"anonymous"`: everybody, on purpose. Default: everybody, on loopback only. */
  auth?: Authenticators | "anonymous" | undefined;
  /** Whose tasks a principal's are. Default: its id, so its own. */
  ownerOf?: ((principal: Principal) => string) | undefined;
  /** What a caller may cost. */
  limits?: Limits | undefined;
  /** Decorators of the handler, outermost first. Default: none. */
  use?: readonly Decorator[] | undefined;
  /** Another card for who has logged in (§3.1.11). Default: none, and the card says so. */
  extendedCard?: ExtendedCardOption | undefined;
  /** Addresses or networks whose `X-Forwarded-*` are believed. Default: nobody's. */
  trustedProxies?: readonly string[] | undefined;
  /** How long a canceled run may take to end before its task is CANCELED without it. Default 5 000. */
  cancelGraceMs?: number | undefined;
  /** Whether SendStreamingMessage ends at INPUT_REQUIRED. Default `"close"`. */
  streamAtInputRequired?: "close" | "keep" | undefined;
  /** How long `close` lets what runs go on. Default 10 000. */
  drainMs?: number | undefined;
  /** Between two comments on a quiet event stream. Default 15 000. */
  heartbeatMs?: number | undefined;
  /** How long an HTTP/2 connection may be silent before it is asked whether it lives, and closed if it doesn't. Default 60 000. */
  pingIntervalMs?: number | undefined;
  /** Default: warnings and errors, as JSON lines on standard error. */
  logger?: Logger | undefined;
  /** Clock, timers, ids, faults. For tests. */
  runtime?: Runtime | undefined;
}

/** A certificate, its key, and whose certificates of others count, each as PEM. */
export interface Pem {
  readonly cert: string | Uint8Array;
  readonly key: string | Uint8Array;
  readonly ca?: string | Uint8Array | undefined;
}

/** Makes another card of the public one, for a principal; `anonymous: true` also for callers who haven't logged in. */
export type ExtendedCardOption =
  | ((principal: Principal, card: AgentCardJson) => AgentCardJson | Promise<AgentCardJson>)
  | {
      readonly card: (principal: Principal, card: AgentCardJson) => AgentCardJson | Promise<AgentCardJson>;
      readonly anonymous?: boolean | undefined;
    };

/** What a caller may cost at most. */
export interface Limits {
  /** Largest request body, on every binding. Default 16 MiB. */
  bodyBytes?: number | undefined;
  /** Deepest nesting of a JSON body. Default 100. */
  nesting?: number | undefined;
  /**
   * How long a request may take to arrive, its body included, in milliseconds. An answer may take as long as it likes. Default 300 000.
   */
  requestTimeoutMs?: number | undefined;
  /** Runs at a time in this process; more wait, SUBMITTED. Default 1 000. */
  runningTasks?: number | undefined;
}

/** A server that listens. */
export interface Server extends AsyncDisposable {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The default agent's card. */
  readonly card: AgentCard;
  /** Stops accepting, lets what runs end for `drainMs`, ends streams at a frame boundary, and releases everything. */
  close(): Promise<void>;
}
