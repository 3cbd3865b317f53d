import { type DescMessage, fromBinary, isMessage, type Message } from "@bufbuild/protobuf";
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { decodeJson, violationsOf } from "./codec.js";
import { MAX_VIOLATIONS } from "./codec-judgement.js";
import { A2AError, type Violation } from "./errors.js";
import type * as contract from "./types.js";
import { A2AService } from "./types.js";

type Schemas = typeof contract;
/** The name of a message of the contract: `"Task"`, `"StreamResponse"`, `"AgentCard"`, … */
export type MessageName = {
  [K in keyof Schemas]: Schemas[K] extends DescMessage ? (K extends `${infer Name}Schema` ? Name : never) : never;
}[keyof Schemas];

/** What `validate` lets pass. */
export interface ValidateOptions {
  /** Default `"reject"`: each unknown field is a violation, though a reader has to ignore it (§5.7): it is misspelt, or of another version. */
  readonly unknownFields?: "reject" | "ignore" | undefined;
}

/** Every message type of the contract, by its name. */
export const messageTypes: ReadonlyMap<string, DescMessage> = new Map(
  A2AService.file.messages.map((message) => [message.name, message]),
);

/**
 * Judges a payload as it should be on a wire: what breaks the contract, and what only a forgiving reader would take (proto names, enums by
 * number, times with an offset, absent REQUIRED members: §5.5–§5.7; numbers out of bounds: §3.1.4, §3.2.4). Lists the first hundred
 * violations; an empty list means that it is valid.
 *
 * @param payload a message, its ProtoJSON, the text of that, or its bytes in protobuf.
 * @throws TypeError when the contract has no message of that name.
 */
export function validate(typeName: MessageName, payload: unknown, options: ValidateOptions = {}): Violation[] {
  return validateAs(messageType(typeName), payload, options);
}

/** The same, of a message type. */
export function validateAs(schema: DescMessage, payload: unknown, options: ValidateOptions = {}): Violation[] {
  if (payload instanceof Uint8Array) return judgeBytes(schema, payload, options);
  if (isMessage(payload)) return judgeMessage(schema, payload, options);
  if (typeof payload !== "string") return judgeJson(schema, payload, options);
  const json = parse(payload);
  return json === undefined ? [notA("JSON", "is not JSON", "§5.5")] : judgeJson(schema, json.value, options);
}

/** The message type of a name, with its package or without. @throws TypeError, saying which there are. */
export function messageType(name: string): DescMessage {
  const found = messageTypes.get(name.replace(/^lf\.a2a\.v1\./, ""));
  if (found !== undefined) return found;
  const names = [...messageTypes.keys()];
  const near = names.filter((one) => one.toLowerCase().includes(name.toLowerCase()) && name !== "");
  const known = near.length > 0 ? near : names;
  throw new TypeError(`A2A 1.0 has no message ${JSON.stringify(name)}; there is ${known.join(", ")}`);
}

function judgeJson(schema: DescMessage, json: unknown, { unknownFields = "reject" }: ValidateOptions): Violation[] {
  try {
    decodeJson(schema, json, { unknownFields, exact: true });
    return [];
  } catch (error) {
    if (error instanceof A2AError) return [...error.violations];
    throw error;
  }
}

function judgeBytes(schema: DescMessage, bytes: Uint8Array, options: ValidateOptions): Violation[] {
  let message: Message;
  try {
    message = fromBinary(schema, bytes);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [notA("PROTOBUF", `is no ${schema.name} in protobuf: ${why}`, "§10.1")];
  }
  return judgeMessage(schema, message, options);
}

function judgeMessage(
  schema: DescMessage,
  message: Message,
  { unknownFields = "reject" }: ValidateOptions,
): Violation[] {
  if (message.$typeName !== schema.typeName)
    return [notA("TYPE", `is a ${message.$typeName}, not a ${schema.typeName}`, "§4")];
  const violations = violationsOf(schema, message, { exact: true });
  if (unknownFields === "reject") listUnknown(schema, message, "", violations);
  return violations;
}

/** Fields that the contract doesn't have survive in a message that was read from bytes. */
function listUnknown(schema: DescMessage, message: Message, path: string, violations: Violation[]): void {
  for (const { no } of message.$unknown ?? []) {
    if (violations.length >= MAX_VIOLATIONS) return;
    violations.push({
      path: path === "" ? `${no}` : `${path}.${no}`,
      rule: "UNKNOWN_FIELD",
      description: `${schema.name} has no field ${no}`,
      section: "§5.7",
    });
  }
  const fields = reflect(schema, message);
  for (const field of fields.fields) {
    if (field.message === undefined || field.message.file.proto.package !== schema.file.proto.package) continue;
    if (!fields.isSet(field)) continue;
    const at = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    const into = (item: unknown, step: string): void => {
      if (isReflectMessage(item)) listUnknown(item.desc, item.message, `${at}${step}`, violations);
    };
    if (field.fieldKind === "message") into(fields.get(field), "");
    else for (const [key, item] of fields.get(field).entries()) into(item, `[${JSON.stringify(key)}]`);
  }
}

function notA(rule: string, description: string, section: string): Violation {
  return { path: "", rule, description, section };
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
