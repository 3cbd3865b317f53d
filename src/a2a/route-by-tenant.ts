import { invalidParams } from "./errors.js";
import type { Handler } from "./handler.js";
import { mapHandler, streamingOf, unaryOf } from "./map-handler.js";

/** One Handler for several agents: the request's tenant names the one that is meant (§8.3.2). */
export function routeByTenant(handlers: ReadonlyMap<string, Handler>): Handler {
  const handlerFor = ({ tenant }: { readonly tenant: string }): Handler => {
    const handler = handlers.get(tenant);
    if (handler !== undefined) return handler;
    throw invalidParams([{ path: "tenant", rule: "TENANT", description: "is not known here", section: "§8.3.2" }]);
  };
  return mapHandler({
    unary: (key) => async (request, call) => unaryOf(handlerFor(request), key)(request, call),
    streaming: (key) =>
      async function* (request, call) {
        yield* streamingOf(handlerFor(request), key)(request, call);
      },
  });
}
