import { randomUUID } from "node:crypto";
import { SendMessageRequest, StreamResponse } from "@a2a-js/sdk";
import {
  type CallInterceptor,
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type TransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { isJsonRpcError, isRestError } from "@a2a-js/sdk/errors";
import { isGrpcError } from "@a2a-js/sdk/errors/grpc";

/** The transports of the foreign client, as a card names them. */
export const transports: readonly (readonly [name: string, factory: TransportFactory])[] = [
  ["JSONRPC", new JsonRpcTransportFactory()],
  ["HTTP+JSON", new RestTransportFactory()],
  ["GRPC", new GrpcTransportFactory()],
];

/** The foreign client of an agent, found by its card; `user` goes with every call. */
export function sdkClient(url: string, transport: TransportFactory, user = "ann"): Promise<Client> {
  const asUser: CallInterceptor = {
    async before(args) {
      args.options = {
        ...args.options,
        serviceParameters: { ...args.options?.serviceParameters, "x-user": user },
      };
    },
    async after() {},
  };
  const factory = new ClientFactory({ transports: [transport], clientConfig: { interceptors: [asUser] } });
  return factory.createFromUrl(url);
}

export type Json = Record<string, unknown>;

/** Whether it is the error of a request that breaks the contract, as each transport of the foreign client tells it. */
export function isMalformed(error: unknown): boolean {
  if (isJsonRpcError(error)) return error.envelopeCode === -32602;
  if (isRestError(error)) return error.statusCode === 400;
  return isGrpcError(error) && error.status === 3;
}

/** A message of ours, in the foreign form. */
export function request(content: string | Json[], more: Json = {}, configuration: Json = {}): SendMessageRequest {
  const parts = typeof content === "string" ? [{ text: content }] : content;
  const message = { messageId: randomUUID(), role: "ROLE_USER", parts, ...more };
  return SendMessageRequest.fromJSON({ message, configuration });
}

/** A stream to its end, as ProtoJSON. */
export async function collect(stream: AsyncIterable<StreamResponse>): Promise<Json[]> {
  const events: Json[] = [];
  for await (const event of stream) events.push(StreamResponse.toJSON(event) as Json);
  return events;
}
