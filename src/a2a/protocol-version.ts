import type { JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "./operation.js";
import type { AgentCard } from "./types.js";

/** A version of A2A as data (§3.6): its operations, and how it writes a card. */
export interface ProtocolVersion {
  /** `Major.Minor`: `"1.0"`. */
  readonly id: string;
  readonly operations: readonly Operation[];
  writeCard(card: AgentCard): JsonValue;
}
