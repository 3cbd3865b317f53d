import type { DescMessage, JsonValue, Message, MessageShape } from "@bufbuild/protobuf";
import { Judgement } from "./codec-judgement.js";
import { messageKind } from "./codec-message.js";
import { A2AError, invalidParams, type Violation } from "./errors.js";

/** How strictly a payload is read. */
export interface DecodeOptions {
  /**
   * Whose payload it is. A `caller`'s (default) is judged by the contract, and everything that is wrong is INVALID_PARAMS. A `peer`'s
   * answer is read forgivingly (§5.7): unknown enum values are kept, absent REQUIRED members are let go.
   */
  readonly from?: "caller" | "peer";
  /** Default `"ignore"` (§5.7). `"reject"`: each unknown field is a violation. */
  readonly unknownFields?: "ignore" | "reject";
  /**
   * Judges a caller's payload also by how it is written, where a reader takes more than a writer may write: JSON names only (§5.5), enums
   * by name (§5.5), times in UTC (§5.6.1), every REQUIRED member there even when it is empty (§5.7), numbers within their bounds (§3.1.4,
   * §3.2.4). Default false.
   */
  readonly exact?: boolean;
}

/**
 * Reads ProtoJSON. Takes JSON names and proto names, enums by name or number, null as unset; nests at most 40 levels (a peer's answer:
 * 48). Shares no memory with `json`.
 * @throws A2AError INVALID_PARAMS (of a peer: INVALID_AGENT_RESPONSE) with every violation, the first hundred of them.
 */
export function decodeJson<D extends DescMessage>(
  schema: D,
  json: unknown,
  options: DecodeOptions = {},
): MessageShape<D> {
  const isPeer = options.from === "peer";
  const rejectUnknown = options.unknownFields === "reject";
  const judgement = new Judgement({ forgiving: isPeer, rejectUnknown, exact: options.exact === true });
  const message = messageKind(schema).read(json, judgement);
  const { violations } = judgement;
  if (violations.length === 0) return message as MessageShape<D>; // the kind of a schema reads its shape
  if (!isPeer) throw invalidParams(violations);
  const first = violations[0];
  const where = first === undefined || first.path === "" ? "The response" : first.path;
  throw new A2AError("INVALID_AGENT_RESPONSE", `The agent gave an invalid response: ${where} ${first?.description}`, {
    violations,
  });
}

/** Writes ProtoJSON: REQUIRED members always, everything else when set (§5.7). Shares no memory with the message. */
export function encodeJson(schema: DescMessage, message: Message): JsonValue {
  return messageKind(schema).write(message);
}

/** Every rule of the contract that a message breaks, as `decodeJson` would have said of its JSON. For binary wires. */
export function violationsOf(
  schema: DescMessage,
  message: Message,
  { exact = false }: Pick<DecodeOptions, "exact"> = {},
): Violation[] {
  const judgement = new Judgement({ forgiving: false, rejectUnknown: false, exact });
  messageKind(schema).check(message, judgement);
  return judgement.violations;
}
