import type { JsonObject } from "@bufbuild/protobuf";
import { BAD_REQUEST, ERROR_INFO, type Violation } from "../a2a/errors.js";
import type { Operation } from "../a2a/operation.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { validateAs } from "../a2a/validate.js";
import type { Verdicts } from "./report.js";
import type { Outcome, WireError } from "./speaker.js";

/** Judges an answer's message by the contract: JSON as it came, or a decoded message. */
export function judgeOutput(record: Verdicts, { name, output }: Operation, payload: unknown): void {
  if (output.fields.length === 0) return;
  const violations = validateAs(output, payload);
  const unknown = violations.filter(({ rule }) => rule === "UNKNOWN_FIELD");
  const broken = violations.filter(({ rule }) => rule !== "UNKNOWN_FIELD");
  for (const { path, description } of broken) record.fail("payload.contract", `${name}: ${at(path)}${description}`);
  for (const { path } of unknown) record.fail("payload.unknown-fields", `${name}: ${at(path)}unknown`);
  if (broken.length === 0) record.pass("payload.contract");
  if (unknown.length === 0) record.pass("payload.unknown-fields");
}

function at(path: string): string {
  return path === "" ? "" : `${path.replace(/\[\d+\]/g, "[]")} `; // the same fault in each element is one
}

/** Says what is wrong with a shape; gives whether nothing is. */
export function judgeShape(
  record: Verdicts,
  rule: "jsonrpc.envelope" | "http.error-shape",
  violations: readonly Violation[],
  seen: string,
): void {
  for (const { path, description } of violations) record.fail(rule, `${at(path)}${description}; it was ${seen}`);
  if (violations.length === 0) record.pass(rule);
}

/** The result of a call. Who sends a list or a text has sent no message. */
export function resultOf(json: unknown): Outcome {
  if (isObject(json)) return { case: "result", json };
  return { case: "broken", why: `an answer that is no JSON object: ${JSON.stringify(json)?.slice(0, 100)}` };
}

/** An error, of what every wire has: a code, a message, and `google.rpc` details. */
export function wireError(
  code: number,
  { message, details }: { readonly message: unknown; readonly details: unknown },
  { isUnauthenticated, challenge }: { readonly isUnauthenticated: boolean; readonly challenge: string | null },
): Outcome {
  const all: readonly UnknownObject[] = Array.isArray(details) ? details.filter(isObject) : [];
  const info = all.find((detail) => detail["@type"] === ERROR_INFO);
  const error: WireError = {
    code,
    message: typeof message === "string" ? message : "",
    reason: text(info?.reason),
    domain: text(info?.domain),
    hasViolations: all.some((detail) => detail["@type"] === BAD_REQUEST && isFilled(detail.fieldViolations)),
    isUnauthenticated,
    challenge: challenge ?? undefined,
  };
  return { case: "error", error };
}

function isFilled(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A request as it goes to an interface: with its tenant, exactly or not at all (§8.3.2). */
export function addressed(request: JsonObject, tenant: string): JsonObject {
  return tenant === "" ? request : { tenant, ...request };
}
