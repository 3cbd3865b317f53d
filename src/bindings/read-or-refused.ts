import { A2AError } from "../a2a/errors.js";
import type { Operation } from "../a2a/operation.js";
import { isObject } from "../a2a/unknown-json.js";
import type { BindingContext, RequestHeaders } from "./binding.js";
import { readServiceParameters } from "./service-parameters.js";

/**
 * Reads a request by the contract. What the agent refuses whatever the request says comes before what is wrong with it (§3.3.4).
 *
 * @param raw the request as the wire has it, of which only the tenant is looked at; asked for only if `read` throws.
 * @throws A2AError what the agent refuses, else what `read` throws.
 */
export function readOrRefused<M>(
  context: BindingContext,
  { key }: Operation,
  headers: RequestHeaders,
  { read, raw }: { read: () => M; raw: () => unknown },
): M {
  try {
    return read();
  } catch (thrown) {
    if (context.refuses === undefined || !(thrown instanceof A2AError) || thrown.reason !== "INVALID_PARAMS")
      throw thrown;
    throw context.refuses(tenantIn(raw()), key, readServiceParameters(headers).extensions) ?? thrown;
  }
}

function tenantIn(request: unknown): string {
  return isObject(request) && typeof request.tenant === "string" ? request.tenant : "";
}
