import { type DescField, type JsonObject, type JsonValue, type Message, ScalarType } from "@bufbuild/protobuf";
import { A2AError, invalidParams, type Violation } from "../../a2a/errors.js";
import type { Operation } from "../../a2a/operation.js";
import { isObject } from "../../a2a/unknown-json.js";
import type { Match } from "./http-rule.js";

/**
 * Puts a request together from its path, and its body or its query (§11.3–11.5), and reads it.
 *
 * @throws A2AError INVALID_PARAMS with every violation; INVALID_REQUEST for a path that is no percent-encoded UTF-8.
 */
export function readHttpRequest({ route, values }: Match, query: URLSearchParams, body: unknown): Message {
  const violations: Violation[] = [];
  const { operation } = route;
  const json = route.body ? fromBody(body) : fromQuery(operation, query, violations);
  bindPath(operation, values, json, violations);
  return readWith(operation, json, violations);
}

/** The tenant that a request names, which may be none that can be read: in its path, else in its body or its query. */
export function tenantOf({ route, values }: Match, query: URLSearchParams, body: unknown): unknown {
  const inPath = values.get("tenant");
  if (inPath !== undefined) return decodeSegment(inPath);
  if (!route.body) return query.get("tenant");
  return isObject(body) ? body.tenant : undefined;
}

/** Decodes a value of the path. @throws A2AError INVALID_REQUEST. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new A2AError("INVALID_REQUEST", "The path is not percent-encoded UTF-8", { cause });
  }
}

/** An empty body and `null` are an empty request. */
function fromBody(body: unknown): JsonObject {
  if (body === undefined || body === null) return {};
  if (!isObject(body))
    throw invalidParams([{ path: "", rule: "TYPE", description: "must be a JSON object", section: "§11.4" }]);
  return { ...body } as JsonObject;
}

/** What the path says stands; the rest of the request may repeat it, not contradict it. */
function bindPath(
  operation: Operation,
  values: ReadonlyMap<string, string>,
  json: JsonObject,
  violations: Violation[],
): void {
  for (const [name, encoded] of values) {
    const field = operation.input.fields.find((candidate) => candidate.name === name);
    if (field === undefined) continue;
    const value = decodeSegment(encoded);
    for (const alias of new Set([field.jsonName, field.name])) {
      const said = json[alias];
      if (said !== undefined && said !== null && said !== "" && said !== value)
        violations.push(contradiction(field, "is another in the path"));
      delete json[alias];
    }
    json[field.jsonName] = value;
  }
}

/** Query parameters by the type of their field; both spellings of its name. What isn't a field is ignored. */
function fromQuery(operation: Operation, query: URLSearchParams, violations: Violation[]): JsonObject {
  const json: JsonObject = {};
  for (const field of operation.input.fields) {
    const texts = [...new Set([field.jsonName, field.name])].flatMap((name) => query.getAll(name));
    const [first] = texts;
    if (first === undefined) continue;
    if (field.fieldKind === "list") {
      json[field.jsonName] = texts.flatMap((text) => text.split(",")).map((text) => jsonOf(field, text));
    } else {
      if (new Set(texts).size > 1)
        violations.push(contradiction(field, "is given several times, with different values"));
      json[field.jsonName] = jsonOf(field, first);
    }
  }
  return json;
}

/** As ProtoJSON writes it. A text that its type doesn't have stays as it is, for the codec to refuse. */
function jsonOf(field: DescField, text: string): JsonValue {
  const kind = field.fieldKind === "list" ? field.listKind : field.fieldKind;
  return kind === "scalar" ? scalarOf(field.scalar, text) : text; // an enum's name, a timestamp; no nested messages (§11.5)
}

function scalarOf(type: ScalarType | undefined, text: string): JsonValue {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return text;
    case ScalarType.BOOL:
      return text === "true" ? true : text === "false" ? false : text;
    default:
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  }
}

/** One answer for all that is wrong, whoever found it. */
function readWith(operation: Operation, json: JsonObject, violations: readonly Violation[]): Message {
  try {
    const request = operation.readRequest(json);
    if (violations.length === 0) return request;
  } catch (error) {
    if (violations.length === 0 || !(error instanceof A2AError)) throw error;
    throw invalidParams([...violations, ...error.violations]);
  }
  throw invalidParams(violations);
}

function contradiction(field: DescField, description: string): Violation {
  return { path: field.jsonName, rule: "CONTRADICTION", description, section: "§11.5" };
}
