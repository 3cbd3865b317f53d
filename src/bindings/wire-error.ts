import type { JsonObject } from "@bufbuild/protobuf";
import {
  A2AError,
  BAD_REQUEST,
  ERROR_INFO,
  errorRow,
  errorTable,
  isReason,
  type Reason,
  type Violation,
} from "../a2a/errors.js";
import { isObject } from "../a2a/unknown-json.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";

/**
 * What goes on a wire for whatever was thrown. An A2AError is itself. Anything else is INTERNAL under a correlation id, and logged here,
 * once; what a caller caused by going away isn't logged.
 */
export function refusalOf(
  thrown: unknown,
  at: { readonly runtime: Runtime; readonly logger: Logger },
  signal?: AbortSignal,
): A2AError {
  if (thrown instanceof A2AError) {
    const row = errorRow(thrown.reason);
    if (thrown.cause !== undefined && row.http < 500)
      at.logger.debug({ err: thrown.cause, reason: thrown.reason }, "A request was refused");
    if (thrown.cause === undefined || row.http < 500 || "correlationId" in thrown.metadata) return thrown;
  }
  if (signal?.aborted === true) return new A2AError("INTERNAL", "The caller has gone");
  const correlationId = at.runtime.id();
  at.logger.error({ err: thrown, correlationId }, "A request failed");
  const [reason, message, metadata] =
    thrown instanceof A2AError
      ? ([thrown.reason, thrown.message, thrown.metadata] as const)
      : (["INTERNAL", `Internal error (${correlationId})`, {}] as const);
  return new A2AError(reason, message, { cause: thrown, metadata: { ...metadata, correlationId } });
}

/** The HTTP headers that go with an error: the challenges of a 401, and when to come back. */
export function errorHeaders(error: A2AError, status: number, challenges: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  if (status === 401 && challenges.length > 0) headers["www-authenticate"] = challenges.join(", ");
  const retryAfterMs = Number(error.metadata.retryAfterMs);
  if (Number.isFinite(retryAfterMs) && retryAfterMs > 0)
    headers["retry-after"] = String(Math.ceil(retryAfterMs / 1_000));
  return headers;
}

/** What an answer said on the HTTP level, and how it began. The `cause` of every error that a client half makes of an answer. */
export class HttpAnswer extends Error {
  readonly status: number;
  /** From `Retry-After`, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor({ status, headers }: Response, excerpt = "") {
    super(`HTTP ${status}${excerpt === "" ? "" : `: ${excerpt}`}`);
    this.name = "HttpAnswer";
    this.status = status;
    this.retryAfterMs = retryAfterOf(headers);
  }
}

/** An error as a peer wrote it: what every JSON wire has in common. */
export interface PeerError {
  readonly message: string | undefined;
  /** `error.data` or `error.details`: `google.rpc` details. Anything else in there is let go. */
  readonly details: unknown;
  /** What to make of it when no `ErrorInfo` says more. */
  readonly otherwise: Reason | (string & {});
}

/** The typed error of a peer's. `ErrorInfo` decides (domain and reason together), then what the wire says otherwise. */
export function readPeerError({ message, details, otherwise }: PeerError, cause: unknown): A2AError {
  const all = (Array.isArray(details) ? details : [details]).filter(
    (detail) => isObject(detail) && typeof detail["@type"] === "string",
  ) as JsonObject[];
  const info = all.find((detail) => detail["@type"] === ERROR_INFO);
  const violations = all.filter((detail) => detail["@type"] === BAD_REQUEST).flatMap(readViolations);
  const reason = reasonOf(info) ?? (violations.length > 0 && otherwise !== "INTERNAL" ? "INVALID_PARAMS" : otherwise);
  return new A2AError(reason, message, {
    cause,
    violations,
    details: all.filter((detail) => detail["@type"] !== ERROR_INFO && detail["@type"] !== BAD_REQUEST),
    metadata: stringsOf(info?.metadata),
  });
}

/** What a bare HTTP status says. */
export function reasonOfStatus(status: number): Reason | "UNAVAILABLE" {
  switch (status) {
    case 400:
      return "INVALID_REQUEST";
    case 401:
      return "UNAUTHENTICATED";
    case 403:
      return "PERMISSION_DENIED";
    case 404:
      return "METHOD_NOT_FOUND";
    case 405:
      return "METHOD_NOT_ALLOWED";
    case 413:
      return "REQUEST_TOO_LARGE";
    case 415:
      return "CONTENT_TYPE_NOT_SUPPORTED";
    case 429:
      return "QUOTA_EXHAUSTED";
    case 501:
      return "UNSUPPORTED_OPERATION";
    case 502:
    case 503:
    case 504:
      return "UNAVAILABLE"; // by something on the way, perhaps: not our DRAINING, which says that nothing was done
    default:
      return status >= 400 && status < 500 ? "INVALID_REQUEST" : status >= 500 ? "INTERNAL" : "INVALID_AGENT_RESPONSE";
  }
}

/** Domain and reason are the identity: another domain's reason of the same name is another error. */
function reasonOf(info: JsonObject | undefined): string | undefined {
  const reason = info?.reason;
  if (typeof reason !== "string" || reason === "") return undefined;
  const domain = info?.domain;
  if (isReason(reason)) return domain === undefined || domain === errorRow(reason).domain ? reason : undefined;
  return domain === errorTable.TASK_NOT_FOUND.domain ? reason : undefined;
}

function readViolations(badRequest: JsonObject): Violation[] {
  const listed = badRequest.fieldViolations;
  const violations: unknown[] = Array.isArray(listed) ? listed : [];
  return violations.filter(isObject).map((violation) => ({
    path: text(violation.field),
    rule: text(violation.reason),
    description: text(violation.description),
    section: "",
  }));
}

function stringsOf(metadata: unknown): Record<string, string> {
  if (!isObject(metadata)) return {};
  return Object.fromEntries(
    Object.entries(metadata).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Seconds, or a date (RFC 9110 §10.2.3), which is taken against the peer's own clock. */
function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const wait = Date.parse(value) - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
