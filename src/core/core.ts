import type { Call, Principal } from "../a2a/call.js";
import type { AgentCardJson } from "../a2a/types.js";
import type { Journal, Scope } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Responder } from "./responder.js";

/** What the operations share. */
export interface Core {
  readonly journal: Journal;
  readonly responder: Responder;
  readonly runtime: Runtime;
  readonly logger: Logger;
  scopeOf(call: Call): Scope;
  /** How long a canceled run may take to end before the task is CANCELED without it. */
  readonly cancelGraceMs: number;
  /** Whether SendStreamingMessage closes at INPUT_REQUIRED. */
  readonly streamAtInputRequired: "close" | "keep";
  readonly extendedCard: ExtendedCard | undefined;
}

/** Another card for who has logged in (§3.1.11). */
export interface ExtendedCard {
  card(principal: Principal, card: AgentCardJson): AgentCardJson | Promise<AgentCardJson>;
  /** Also for callers who haven't logged in. For tests. */
  readonly anonymous: boolean;
}
