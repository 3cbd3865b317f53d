import {
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { decodeJson, encodeJson } from "./codec.js";
import type { Handler } from "./handler.js";

/** The name of an operation on a Handler: `sendMessage`. */
export type OperationKey = keyof Handler;

/**
 * One of the 11 calls, as one protocol version writes it: its name, its routes, how to read and write its request and its response.
 * What a binding needs to know of the contract is here; the messages of a Handler are always those of 1.0.
 */
export interface Operation {
  /** JSON-RPC method and gRPC method (§5.3): `SendMessage`. */
  readonly name: string;
  readonly key: OperationKey;
  readonly streaming: boolean;
  /** The HTTP routes of the descriptor (`google.api.http`), the tenant's variant included. */
  readonly rules: readonly HttpRule[];
  readonly input: DescMessage;
  readonly output: DescMessage;
  /** Server: reads a request. @throws A2AError INVALID_PARAMS with every violation. */
  readRequest(json: unknown): Message;
  /** Server: writes a response. */
  writeResponse(message: Message): JsonValue;
  /** Client: writes a request. */
  writeRequest(message: Message): JsonValue;
  /** Client: reads a response, forgiving what another implementation gets wrong. @throws A2AError INVALID_AGENT_RESPONSE. */
  readResponse(json: unknown): Message;
}

/** The operation that a method of the service descriptor is. */
export function operationOf(method: DescMethod): Operation {
  const rule = hasOption(method, http) ? getOption(method, http) : undefined;
  return {
    name: method.name,
    key: method.localName as OperationKey, // Handler is mapped from this very descriptor
    streaming: method.methodKind === "server_streaming",
    rules: rule === undefined ? [] : [rule, ...rule.additionalBindings],
    input: method.input,
    output: method.output,
    readRequest: (json) => decodeJson(method.input, json),
    writeResponse: (message) => encodeJson(method.output, message),
    writeRequest: (message) => encodeJson(method.input, message),
    readResponse: (json) => decodeJson(method.output, json, { from: "peer" }),
  };
}
