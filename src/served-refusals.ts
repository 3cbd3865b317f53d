import type { Call } from "./a2a/call.js";
import { refusalWithout } from "./a2a/capabilities.js";
import { A2AError } from "./a2a/errors.js";
import type { Handler } from "./a2a/handler.js";
import { mapHandler, streamingOf, unaryOf } from "./a2a/map-handler.js";
import type { AgentCard } from "./a2a/types.js";

/** What an agent refuses, whatever the request says; `undefined`: it will look at the request. */
export type Refusals = (operation: keyof Handler, extensions: Call["extensions"]) => A2AError | undefined;

/** What a card says that its agent refuses (§3.3.4): calls that don't activate what it requires, and what it doesn't offer. */
export function refusalsOf({ capabilities }: AgentCard): Refusals {
  const required = (capabilities?.extensions ?? []).filter((one) => one.required).map(({ uri }) => uri);
  return (operation, extensions = []) => {
    const missing = required.filter((uri) => !extensions.includes(uri));
    if (missing.length === 0) return refusalWithout(capabilities, operation);
    return new A2AError(
      "EXTENSION_SUPPORT_REQUIRED",
      `Activate ${missing.join(", ")} with the A2A-Extensions service parameter`,
    );
  };
}

/** A Handler that refuses what is to be refused, and passes everything else on. */
export function refusing(refusals: Refusals, handler: Handler): Handler {
  return mapHandler({
    unary: (key) => (request, call) => {
      const refusal = refusals(key, call.extensions);
      return refusal === undefined ? unaryOf(handler, key)(request, call) : Promise.reject(refusal);
    },
    streaming: (key) => (request, call) => {
      const refusal = refusals(key, call.extensions);
      return refusal === undefined ? streamingOf(handler, key)(request, call) : failing(refusal);
    },
  });
}

function failing(refusal: A2AError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(refusal) }) };
}
