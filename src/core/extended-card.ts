import { toJson } from "@bufbuild/protobuf";
import { anonymous, type Call } from "../a2a/call.js";
import { decodeJson } from "../a2a/codec.js";
import { A2AError } from "../a2a/errors.js";
import { type AgentCard, AgentCardSchema } from "../a2a/types.js";
import type { Core } from "./core.js";

/** GetExtendedAgentCard (§3.1.11): another card, for who has logged in. */
export async function getExtendedAgentCard({ extendedCard, responder }: Core, call: Call): Promise<AgentCard> {
  const card = responder.card();
  if (extendedCard === undefined) throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED");
  const principal = call.principal ?? anonymous;
  if (principal.id === anonymous.id && !extendedCard.anonymous)
    throw new A2AError("UNAUTHENTICATED", "The extended card is for callers who have authenticated");
  const written = await extendedCard.card(principal, toJson(AgentCardSchema, card));
  try {
    return decodeJson(AgentCardSchema, written);
  } catch (cause) {
    throw new A2AError("INTERNAL", undefined, { cause });
  }
}
