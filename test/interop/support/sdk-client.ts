import {
  type CallInterceptor,
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type TransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

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
