import {
  create,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type BadRequest, BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { A2AError, BAD_REQUEST, ERROR_INFO, errorDetails, errorRow, type Reason } from "../../a2a/errors.js";
import { unreachable } from "../../runtime/unreachable.js";
import { errorHeaders, readPeerError } from "../wire-error.js";

/** Errors travel in trailers, and many peers take no more than 8 KiB of those. Both limits together, as they are encoded, stay below. */
const MAX_MESSAGE_BYTES = 1_500;
const MAX_BAD_REQUEST_BYTES = 3_000;
/** How gRPC's libraries say that it is a message, and not a quota. Their code is the same for both. */
const TOO_LARGE = /larger than|too large|exceeds maximum size/i;

/** What a wire of gRPC carries for an error (§10.6): its column of the table, `google.rpc` details, and the challenges of a 401. */
export function toConnectError(error: A2AError, challenges: readonly string[]): ConnectError {
  const { grpc, http } = errorRow(error.reason);
  const details = errorDetails(error).flatMap(toDetail);
  return new ConnectError(shorten(error.message), grpc as Code, errorHeaders(error, http, challenges), details, error);
}

/** A detail that a protobuf wire can carry: one whose type is known here. */
function toDetail({ "@type": type, ...members }: JsonObject): { desc: DescMessage; value: Message }[] {
  const options = { ignoreUnknownFields: true };
  if (type === ERROR_INFO) {
    return [{ desc: ErrorInfoSchema, value: fromJson(ErrorInfoSchema, members, options) }];
  }
  if (type === BAD_REQUEST) {
    return [{ desc: BadRequestSchema, value: fitting(fromJson(BadRequestSchema, members, options)) }];
  }
  return [];
}

/** As many violations as go into a trailer. */
function fitting({ fieldViolations }: BadRequest): BadRequest {
  const fitted = create(BadRequestSchema);
  let size = 0;
  for (const violation of fieldViolations) {
    size += toBinary(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [violation] })).length;
    if (size > MAX_BAD_REQUEST_BYTES) break;
    fitted.fieldViolations.push(violation);
  }
  return fitted;
}

/** The text as a trailer takes it: percent-encoding knows no half characters, and makes nine bytes of some. */
function shorten(message: string): string {
  let text = message.replace(/\p{Surrogate}/gu, "\ufffd");
  while (encodeURIComponent(text).length > MAX_MESSAGE_BYTES) {
    text = `${[...text].slice(0, Math.floor([...text].length * 0.8)).join("")}…`;
  }
  return text;
}

/** The typed error of the peer's at `url`: `ErrorInfo` first, then the code (§5.4). Keeps the cause. */
export function fromConnectError(thrown: unknown, url: string): A2AError {
  const error = ConnectError.from(thrown);
  const details: JsonValue[] = [
    ...error.findDetails(ErrorInfoSchema).map((info) => typed(ERROR_INFO, toJson(ErrorInfoSchema, info))),
    ...error.findDetails(BadRequestSchema).map((bad) => typed(BAD_REQUEST, toJson(BadRequestSchema, bad))),
  ];
  const limit = unreadLimit(error);
  if (limit !== undefined) {
    return new A2AError("INVALID_AGENT_RESPONSE", `The answer is larger than ${limit} bytes`, { cause: error });
  }
  const message = unreachable(error.cause, url) ?? error.rawMessage;
  return readPeerError({ message, details, otherwise: reasonOf(error) }, error);
}

function typed(type: string, json: JsonValue): JsonObject {
  return { "@type": type, ...(json as JsonObject) };
}

function reasonOf(error: ConnectError): Reason | "UNAVAILABLE" {
  if (isUnreadable(error)) return "INVALID_AGENT_RESPONSE";
  switch (error.code) {
    case Code.InvalidArgument:
      return "INVALID_PARAMS";
    case Code.NotFound:
      return "TASK_NOT_FOUND";
    case Code.FailedPrecondition:
      return "UNSUPPORTED_OPERATION";
    case Code.Unimplemented:
      return "METHOD_NOT_FOUND";
    case Code.Unauthenticated:
      return "UNAUTHENTICATED";
    case Code.PermissionDenied:
      return "PERMISSION_DENIED";
    case Code.ResourceExhausted:
      return TOO_LARGE.test(error.rawMessage) ? "REQUEST_TOO_LARGE" : "QUOTA_EXHAUSTED";
    case Code.Unavailable:
      return "UNAVAILABLE"; // by something on the way, perhaps: not our DRAINING, which says that nothing was done
    default:
      return "INTERNAL";
  }
}

/** The limit in bytes, if it is the transport itself that stopped reading an answer. It says so in a peer's words, but has no headers. */
function unreadLimit({ code, rawMessage, metadata }: ConnectError): string | undefined {
  if (code !== Code.ResourceExhausted || !metadata.keys().next().done) return undefined;
  return /larger than configured readMaxBytes (\d+)/.exec(rawMessage)?.[1];
}

/** Whether it is the transport itself that can't read an answer. It says so in words only. */
function isUnreadable({ code, rawMessage }: ConnectError): boolean {
  return (code === Code.InvalidArgument || code === Code.Internal) && rawMessage.startsWith("parse ");
}
