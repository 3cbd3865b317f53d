import { A2AError } from "../../a2a/errors.js";

/**
 * Stands for `client.ts` where there is no Node, by the `browser` field of package.json: gRPC, and what Connect's client here is made
 * of, need its HTTP.
 * @throws A2AError always: the JSON bindings run anywhere.
 */
export function createGrpcClient(): never {
  throw new A2AError("UNSUPPORTED_OPERATION", "The gRPC bindings need Node; here, use jsonrpc or http-json");
}
