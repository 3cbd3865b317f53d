import type { JsonObject } from "@bufbuild/protobuf";

/** `ErrorInfo.domain` of the errors of §5.4. */
export const A2A_DOMAIN = "a2a-protocol.org";
const OUR_DOMAIN = "nuncio";

interface ErrorRow {
  /** JSON-RPC `error.code` (§5.4, §9.5). */
  readonly jsonRpc: number;
  /** HTTP status (§5.4). */
  readonly http: number;
  /** gRPC status code (§5.4). */
  readonly grpc: number;
  /** Domain of the `google.rpc.ErrorInfo` that goes with it; none for the standard errors of every binding. */
  readonly domain?: typeof A2A_DOMAIN | typeof OUR_DOMAIN;
  /** What the caller reads when nothing better is said. */
  readonly message: string;
}

const NOT_FOUND = 5;
const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** Every error of every wire: one row each, one column a wire. */
export const errorTable = {
  TASK_NOT_FOUND: { jsonRpc: -32001, http: 404, grpc: NOT_FOUND, domain: A2A_DOMAIN, message: "Task not found" },
  TASK_NOT_CANCELABLE: {
    jsonRpc: -32002,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: A2A_DOMAIN,
    message: "The task has ended and can't be canceled",
  },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    jsonRpc: -32003,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: A2A_DOMAIN,
    message: "Push notifications are not supported by this agent",
  },
  UNSUPPORTED_OPERATION: {
    jsonRpc: -32004,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: A2A_DOMAIN,
    message: "This operation is not supported",
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    jsonRpc: -32005,
    http: 400,
    grpc: INVALID_ARGUMENT,
    domain: A2A_DOMAIN,
    message: "This content type is not supported",
  },
  INVALID_AGENT_RESPONSE: {
    jsonRpc: -32006,
    http: 500,
    grpc: INTERNAL,
    domain: A2A_DOMAIN,
    message: "The agent gave an invalid response",
  },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: {
    jsonRpc: -32007,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: A2A_DOMAIN,
    message: "No extended agent card is configured",
  },
  EXTENSION_SUPPORT_REQUIRED: {
    jsonRpc: -32008,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: A2A_DOMAIN,
    message: "This agent requires an extension that the request doesn't declare",
  },
  VERSION_NOT_SUPPORTED: {
    jsonRpc: -32009,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: A2A_DOMAIN,
    message: "This protocol version is not supported",
  },
  PARSE_ERROR: { jsonRpc: -32700, http: 400, grpc: INVALID_ARGUMENT, message: "Invalid JSON payload" },
  INVALID_REQUEST: { jsonRpc: -32600, http: 400, grpc: INVALID_ARGUMENT, message: "Request payload validation error" },
  METHOD_NOT_FOUND: { jsonRpc: -32601, http: 404, grpc: UNIMPLEMENTED, message: "Method not found" },
  METHOD_NOT_ALLOWED: { jsonRpc: -32600, http: 405, grpc: UNIMPLEMENTED, message: "Method not allowed" },
  INVALID_PARAMS: { jsonRpc: -32602, http: 400, grpc: INVALID_ARGUMENT, message: "Invalid parameters" },
  INTERNAL: { jsonRpc: -32603, http: 500, grpc: INTERNAL, domain: OUR_DOMAIN, message: "Internal error" },
  UNAUTHENTICATED: {
    jsonRpc: -32000,
    http: 401,
    grpc: UNAUTHENTICATED,
    domain: OUR_DOMAIN,
    message: "Authentication is required",
  },
  PERMISSION_DENIED: {
    jsonRpc: -32000,
    http: 403,
    grpc: PERMISSION_DENIED,
    domain: OUR_DOMAIN,
    message: "Permission denied",
  },
  REQUEST_TOO_LARGE: {
    jsonRpc: -32000,
    http: 413,
    grpc: RESOURCE_EXHAUSTED,
    domain: OUR_DOMAIN,
    message: "The request is too large",
  },
  QUOTA_EXHAUSTED: {
    jsonRpc: -32029,
    http: 429,
    grpc: RESOURCE_EXHAUSTED,
    domain: OUR_DOMAIN,
    message: "A quota is exhausted; retry later",
  },
  HALTED: {
    jsonRpc: -32030,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: OUR_DOMAIN,
    message: "This agent is halted; don't retry",
  },
  DRAINING: {
    jsonRpc: -32031,
    http: 503,
    grpc: UNAVAILABLE,
    domain: OUR_DOMAIN,
    message: "This server is shutting down; retry elsewhere",
  },
  DELEGATION_REFUSED: {
    jsonRpc: -32032,
    http: 400,
    grpc: FAILED_PRECONDITION,
    domain: OUR_DOMAIN,
    message: "The delegation is refused",
  },
} as const satisfies Record<string, ErrorRow>;

/** `ErrorInfo.reason`: §5.4, the standard errors of every binding, and our own refusals. */
export type Reason = keyof typeof errorTable;

/** Whether a string that came over a wire is a reason that we know. */
export function isReason(value: string): value is Reason {
  return Object.hasOwn(errorTable, value);
}

/** The row of a reason; of INTERNAL for one that we don't know (a newer peer's). */
export function errorRow(reason: string): ErrorRow {
  return isReason(reason) ? errorTable[reason] : errorTable.INTERNAL;
}

/** One rule of the contract that a payload breaks. */
export interface Violation {
  /** JSON path of the field, `message.parts[0].text`; empty for the payload itself. */
  readonly path: string;
  /** In UPPER_SNAKE_CASE: `REQUIRED`, `ONEOF`, `ENUM`, … */
  readonly rule: string;
  /** For a person to read. */
  readonly description: string;
  /** Where the specification says so: `§5.7`. */
  readonly section: string;
}

/** What an error may say beside its reason and its message. */
export interface A2AErrorOptions {
  /** What really happened. For the log; never on a wire. */
  readonly cause?: unknown;
  readonly violations?: readonly Violation[];
  /** `google.rpc` details as ProtoJSON, `@type` included. */
  readonly details?: readonly JsonObject[];
  /** Goes into `ErrorInfo.metadata`. */
  readonly metadata?: Readonly<Record<string, string>>;
}

const BRAND = Symbol.for("nuncio.A2AError");
/** Longer texts are cut, so that none breaks a header or a trailer. */
const MAX_MESSAGE_LENGTH = 1_000;

/**
 * What a handler refuses with (§3.3.2). The message is for the caller, `cause` for the log. `instanceof` works across copies of the
 * package, subclasses included.
 */
export class A2AError extends Error {
  readonly reason: Reason | (string & {});
  readonly violations: readonly Violation[];
  readonly details: readonly JsonObject[];
  readonly metadata: Readonly<Record<string, string>>;

  constructor(reason: Reason | (string & {}), message?: string, options: A2AErrorOptions = {}) {
    const text = message ?? errorRow(reason).message;
    super(
      text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "A2AError";
    this.reason = reason;
    this.violations = options.violations ?? [];
    this.details = options.details ?? [];
    this.metadata = options.metadata ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== "object" || value === null || !(BRAND in value)) return false;
    // biome-ignore lint/complexity/noThisInStatic: a subclass asks for itself
    return this === A2AError || Object.prototype.isPrototypeOf.call(this.prototype, value);
  }
}

/** InvalidParams with everything that is wrong (§3.3.2, §9.5). */
export function invalidParams(violations: readonly Violation[]): A2AError {
  const first = violations[0];
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : "";
  const said =
    first === undefined
      ? undefined
      : `Invalid parameters: ${first.path === "" ? "" : `${first.path}: `}${first.description}${more}`;
  return new A2AError("INVALID_PARAMS", said, { violations });
}

/** The `@type` of `google.rpc.ErrorInfo`. */
export const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
/** The `@type` of `google.rpc.BadRequest`. */
export const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";

/**
 * The details that go with an error on every wire: `ErrorInfo` first where it has a domain, then `BadRequest`, then its own (§9.5, §10.6,
 * §11.6).
 */
export function errorDetails(error: A2AError): JsonObject[] {
  const details: JsonObject[] = [];
  const { domain } = errorRow(error.reason);
  if (domain !== undefined) {
    const info: JsonObject = { "@type": ERROR_INFO, reason: error.reason, domain };
    if (Object.keys(error.metadata).length > 0) info.metadata = { ...error.metadata };
    details.push(info);
  }
  if (error.violations.length > 0) {
    details.push({
      "@type": BAD_REQUEST,
      fieldViolations: error.violations.map(({ path, description, rule }) => ({
        field: path,
        description,
        reason: rule,
      })),
    });
  }
  return [...details, ...error.details];
}
