import { encodeJson } from "./codec.js";
import { operationOf } from "./operation.js";
import type { ProtocolVersion } from "./protocol-version.js";
import { A2AService, AgentCardSchema } from "./types.js";

/** A2A 1.0, derived from its service descriptor. */
export const v1: ProtocolVersion = {
  id: "1.0",
  operations: A2AService.methods.map(operationOf),
  writeCard: (card) => encodeJson(AgentCardSchema, card),
};
