import { MAX_VIOLATIONS } from "../a2a/codec-judgement.js";
import { A2A_DOMAIN, BAD_REQUEST, ERROR_INFO, errorRow, errorTable, isReason, type Violation } from "../a2a/errors.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";

/** Records what is wrong with one member. */
type Fail = (path: string, rule: string, description: string) => void;

/** Judges a JSON-RPC answer around its result: JSON-RPC 2.0 and §9.5. An error is judged whole. */
export function judgeRpcAnswer(answer: UnknownObject): Violation[] {
  return judged("§9.5", (fail) => {
    if (answer.jsonrpc !== "2.0") fail("jsonrpc", "JSONRPC", 'must be "2.0"');
    if (!Object.hasOwn(answer, "id"))
      fail("id", "REQUIRED", "is required: that of the request, or null where none could be read");
    else if (!isRequestId(answer.id)) fail("id", "TYPE", "must be a string, a number or null");
    const [hasResult, hasError] = [Object.hasOwn(answer, "result"), Object.hasOwn(answer, "error")];
    if (hasResult === hasError) fail("", "ONEOF", "must have one of result, error");
    if (!hasError) return;
    const { error } = answer;
    if (!isObject(error)) {
      fail("error", "TYPE", "must be a JSON object");
      return;
    }
    if (!Number.isInteger(error.code)) fail("error.code", "TYPE", "must be an integer");
    judgeText(error, fail);
    judgeDetails(error.data, "error.data", fail);
  });
}

/** Judges an error of HTTP+JSON: `google.rpc.Status` below `error` (§11.6). */
export function judgeStatusBody(body: unknown): Violation[] {
  return judged("§11.6", (fail) => {
    if (!isObject(body) || !isObject(body.error)) {
      fail("error", "REQUIRED", "must be a google.rpc.Status");
      return;
    }
    const { error } = body;
    if (!Number.isInteger(error.code)) fail("error.code", "TYPE", "must be an integer: the HTTP status");
    if (error.status !== undefined && typeof error.status !== "string")
      fail("error.status", "TYPE", "must be the name of a gRPC status");
    judgeText(error, fail);
    judgeDetails(error.details, "error.details", fail);
  });
}

/**
 * Judges whether an error of A2A's says which it is, and has the number of what it says (§5.4). Over HTTP one number stands for many errors,
 * so that there only what is said can be judged.
 */
export function judgeMeaning(error: unknown, wire: "jsonRpc" | "http"): Violation[] {
  if (!isObject(error)) return [];
  const said = reasonIn(wire === "jsonRpc" ? error.data : error.details);
  if (said !== undefined) {
    const code = errorRow(said)[wire];
    return judged("§5.4", (fail) => {
      if (error.code !== code) fail("error.code", "CODE", `must be ${code} for ${said}`);
    });
  }
  return judged("§9.5", (fail) => {
    const meant = a2aReasons.find((reason) => wire === "jsonRpc" && errorTable[reason].jsonRpc === error.code);
    if (meant !== undefined) fail("error.data", "ERROR_INFO", `must hold the google.rpc.ErrorInfo of ${meant}`);
  });
}

const a2aReasons = Object.keys(errorTable)
  .filter(isReason)
  .filter((reason) => errorRow(reason).domain === A2A_DOMAIN);

/** Which of A2A's errors the details name. */
function reasonIn(details: unknown) {
  const infos = (Array.isArray(details) ? details : []).filter(isObject).filter((one) => one["@type"] === ERROR_INFO);
  return a2aReasons.find((reason) => infos.some((info) => info.reason === reason && info.domain === A2A_DOMAIN));
}

/** Judges a JSON-RPC request around its params (§9.3). */
export function judgeRpcRequest(request: UnknownObject): Violation[] {
  return judged("§9.3", (fail) => {
    if (request.jsonrpc !== "2.0") fail("jsonrpc", "JSONRPC", 'must be "2.0"');
    if (typeof request.method !== "string" || request.method === "") fail("method", "TYPE", "must be a name");
    if (request.id === undefined) fail("id", "REQUIRED", "is required: without it no answer can be told apart");
    else if (!isRequestId(request.id)) fail("id", "TYPE", "must be a string, a number or null");
    const { params } = request;
    if (params !== undefined && !isObject(params)) fail("params", "TYPE", "must be a JSON object");
  });
}

function judgeText({ message }: UnknownObject, fail: Fail): void {
  if (typeof message !== "string" || message === "")
    fail("error.message", "REQUIRED", "is required: what went wrong, for a person to read");
}

function judgeDetails(details: unknown, path: string, fail: Fail): void {
  if (details === undefined) return;
  if (!Array.isArray(details)) {
    fail(path, "TYPE", "must be an array of objects with @type");
    return;
  }
  for (const [index, detail] of details.entries()) {
    const at = `${path}[${index}]`;
    if (!isObject(detail) || typeof detail["@type"] !== "string") fail(at, "TYPE", "must be an object with @type");
    else if (detail["@type"] === ERROR_INFO) judgeErrorInfo(detail, at, fail);
    else if (detail["@type"] === BAD_REQUEST) judgeBadRequest(detail, at, fail);
  }
}

function judgeErrorInfo({ reason, domain, metadata }: UnknownObject, at: string, fail: Fail): void {
  if (typeof reason !== "string" || !/^[A-Z][A-Z0-9_]*$/.test(reason))
    fail(`${at}.reason`, "REASON", "must be in UPPER_SNAKE_CASE");
  else if (errorRow(reason).domain === A2A_DOMAIN && domain !== A2A_DOMAIN)
    fail(`${at}.domain`, "DOMAIN", `must be ${A2A_DOMAIN} for an error of A2A's`);
  else if (typeof domain !== "string") fail(`${at}.domain`, "TYPE", "must be a string");
  if (metadata === undefined) return;
  if (!isObject(metadata)) {
    fail(`${at}.metadata`, "TYPE", "must be a JSON object");
    return;
  }
  for (const [key, value] of Object.entries(metadata))
    if (typeof value !== "string") fail(`${at}.metadata[${JSON.stringify(key)}]`, "TYPE", "must be a string");
}

function judgeBadRequest({ fieldViolations = [] }: UnknownObject, at: string, fail: Fail): void {
  const path = `${at}.fieldViolations`;
  if (!Array.isArray(fieldViolations)) {
    fail(path, "TYPE", "must be a JSON array");
    return;
  }
  for (const [index, violation] of fieldViolations.entries()) {
    const { field, description } = isObject(violation) ? violation : {};
    if (typeof field !== "string") fail(`${path}[${index}].field`, "TYPE", "must be the path of a field");
    if (description !== undefined && typeof description !== "string")
      fail(`${path}[${index}].description`, "TYPE", "must be a string");
  }
}

function isRequestId(id: unknown): boolean {
  return id === null || typeof id === "string" || typeof id === "number";
}

function judged(section: string, judge: (fail: Fail) => void): Violation[] {
  const violations: Violation[] = [];
  judge((path, rule, description) => {
    if (violations.length < MAX_VIOLATIONS) violations.push({ path, rule, description, section });
  });
  return violations;
}
