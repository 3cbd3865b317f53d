import type { DescMessage } from "@bufbuild/protobuf";
import type { Call } from "../a2a/call.js";
import { type Capabilities, isOfPush } from "../a2a/capabilities.js";
import { decodeJson } from "../a2a/codec.js";
import { A2AError } from "../a2a/errors.js";
import type { Handler, HandlerImplementation } from "../a2a/handler.js";
import { mapHandler } from "../a2a/map-handler.js";
import { A2AService } from "../a2a/types.js";

/** What an agent offers by the operations that it has (§4.4.3): streams, all four push operations, the extended card. */
export function offeredBy(implementation: HandlerImplementation): Capabilities {
  const has = (key: keyof Handler) => implementation[key] !== undefined;
  return {
    streaming: has("sendStreamingMessage"),
    pushNotifications: A2AService.methods
      .map(({ localName }) => localName as keyof Handler)
      .filter(isOfPush)
      .every(has),
    extendedAgentCard: has("getExtendedAgentCard"),
  };
}

/**
 * A Handler of operations that are written by hand: answers may be ProtoJSON, and what is left out is UnsupportedOperation. Of what the
 * card doesn't offer nothing arrives here (§3.3.4).
 */
export function implementedHandler(implementation: HandlerImplementation): Handler {
  const written = (key: keyof Handler): ((request: unknown, call: Call) => unknown) => {
    const method = implementation[key]?.bind(implementation) as ((request: unknown, call: Call) => unknown) | undefined;
    if (method !== undefined) return method;
    throw new A2AError("UNSUPPORTED_OPERATION", `${A2AService.method[key].name} is not supported by this agent`);
  };
  return mapHandler({
    unary: (key) => async (request, call) =>
      messageOf(A2AService.method[key].output, await written(key)(request, call)),
    streaming: (key) =>
      async function* (request, call) {
        for await (const answer of written(key)(request, call) as AsyncIterable<unknown>)
          yield messageOf(A2AService.method[key].output, answer);
      },
  });
}

function messageOf(schema: DescMessage, answer: unknown): unknown {
  return typeof answer === "object" && answer !== null && "$typeName" in answer
    ? answer
    : decodeJson(schema, answer, { from: "peer" });
}
