import { type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import {
  type ChannelCredentials,
  type ClientDuplexStream,
  type ClientOptions,
  type ClientReadableStream,
  type ClientUnaryCall,
  credentials,
  type Metadata,
  makeGenericClientConstructor,
  type ServiceDefinition,
  type ServiceError,
} from "@grpc/grpc-js";
import {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import type { Handler } from "../../src/a2a/handler.js";
import { A2AService } from "../../src/a2a/types.js";
import type { BindingContext } from "../../src/bindings/binding.js";
import { createGrpcBinding, type GrpcOptions } from "../../src/bindings/grpc/server.js";
import { createHost } from "../../src/hosts/host.js";
import { testContext } from "./binding-context.js";
import type { FakeHandler } from "./fake-handler.js";

export interface GrpcHost {
  readonly handler: FakeHandler;
  readonly address: string;
  readonly origin: string;
  /** What was logged as an error. */
  readonly errors: object[];
  readonly draining: AbortController;
  /** A foreign client of a service. Closed with the host. */
  client(service?: DescService): GenericClient;
  close(): Promise<void>;
}

/** The gRPC binding alone on one port of the loopback, HTTP/1.1 and HTTP/2. */
export async function startGrpc(
  context: Partial<Omit<BindingContext, "handler">> & { handler?: Handler } = {},
  options: GrpcOptions = {},
): Promise<GrpcHost> {
  const { handler, errors, draining, shared } = testContext(context);
  const host = await createHost({
    path: "/a2a",
    rpc: createGrpcBinding(shared, options),
    card: () => undefined,
    agents: () => [],
    draining,
    runtime: shared.runtime,
    logger: shared.logger,
    maxBodyBytes: shared.maxBodyBytes,
  });
  const { port } = await host.listen({ port: 0, host: "127.0.0.1" });
  const address = `127.0.0.1:${port}`;
  const clients: GenericClient[] = [];
  return {
    handler,
    address,
    origin: `http://${address}`,
    errors,
    draining,
    client(service = A2AService) {
      const made = genericClient(address, service);
      clients.push(made);
      return made;
    },
    async close() {
      for (const client of clients) client.close();
      await host.close();
    },
  };
}

/** grpc-js knows nothing of our types; its methods are called by name. */
export interface GenericClient {
  readonly unary: (method: string, request: Message, metadata?: Metadata, options?: object) => Promise<Message>;
  readonly stream: (
    method: string,
    request: Message,
    metadata?: Metadata,
    options?: object,
  ) => ClientReadableStream<Message>;
  readonly duplex: (method: string, metadata?: Metadata) => ClientDuplexStream<Message, Message>;
  close(): void;
}

/** A service as grpc-js wants it. Bytes are written as they are. */
export function serviceDefinition(service: DescService = A2AService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map(({ name, localName, input, output, methodKind }) => [
      localName,
      {
        path: `/${service.typeName}/${name}`,
        requestStream: methodKind === "bidi_streaming" || methodKind === "client_streaming",
        responseStream: methodKind === "bidi_streaming" || methodKind === "server_streaming",
        requestSerialize: (message: Message) => Buffer.from(toBinary(input, message)),
        requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
        responseSerialize: (message: Message | Buffer) =>
          Buffer.isBuffer(message) ? message : Buffer.from(toBinary(output, message as Message)),
        responseDeserialize: (bytes: Buffer) => fromBinary(output, bytes),
      },
    ]),
  );
}

/** A foreign client of whatever listens there. */
export function genericClient(
  address: string,
  service: DescService = A2AService,
  channel: { credentials?: ChannelCredentials; options?: ClientOptions } = {},
): GenericClient {
  const Client = makeGenericClientConstructor(serviceDefinition(service), service.typeName);
  const client = new Client(address, channel.credentials ?? credentials.createInsecure(), channel.options);
  const method = (name: string) => (client[name] as (...args: unknown[]) => unknown).bind(client);
  const given = (args: readonly unknown[]) => args.filter((argument) => argument !== undefined);
  return {
    unary: (name, request, metadata, options) =>
      new Promise((resolve, reject) => {
        const done = (error: ServiceError | null, response: Message) =>
          error === null ? resolve(response) : reject(error);
        method(name)(request, ...given([metadata, options]), done) as ClientUnaryCall;
      }),
    stream: (name, request, metadata, options) =>
      method(name)(request, ...given([metadata, options])) as ClientReadableStream<Message>,
    duplex: (name, metadata) => method(name)(...given([metadata])) as ClientDuplexStream<Message, Message>,
    close: () => client.close(),
  };
}

/** Reads a stream to its end; what was read, and the error that ended it. */
export async function readAll(stream: AsyncIterable<Message>): Promise<{ messages: Message[]; error?: unknown }> {
  const messages: Message[] = [];
  try {
    for await (const message of stream) messages.push(message);
    return { messages };
  } catch (error) {
    return { messages, error };
  }
}

/** The details of a foreign client's error, from `grpc-status-details-bin`. */
export function detailsOf(error: unknown): { info?: ErrorInfo; badRequest?: BadRequest } {
  const [bytes] = (error as ServiceError).metadata.get("grpc-status-details-bin");
  if (!(bytes instanceof Uint8Array)) return {};
  const found: { info?: ErrorInfo; badRequest?: BadRequest } = {};
  for (const { typeUrl, value } of fromBinary(StatusSchema, bytes).details) {
    if (typeUrl.endsWith("google.rpc.ErrorInfo")) found.info = fromBinary(ErrorInfoSchema, value);
    if (typeUrl.endsWith("google.rpc.BadRequest")) found.badRequest = fromBinary(BadRequestSchema, value);
  }
  return found;
}
