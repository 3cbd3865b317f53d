import type { JsonObject } from "@bufbuild/protobuf";
import { A2AError, errorDetails, errorRow } from "../../a2a/errors.js";
import type { RequestHeaders, WireResponse } from "../binding.js";
import { acceptedType } from "../media-type.js";
import { errorHeaders } from "../wire-error.js";

const grpcNames = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** An error as HTTP+JSON writes it: `google.rpc.Status` with the HTTP status as its code (§11.6). */
export function statusText(error: A2AError): string {
  const { http, grpc } = errorRow(error.reason);
  const details = errorDetails(error);
  const status: JsonObject = {
    code: http,
    status: http === 404 ? "NOT_FOUND" : (grpcNames[grpc] ?? "UNKNOWN"),
    message: error.message,
  };
  return JSON.stringify({ error: details.length > 0 ? { ...status, details } : status });
}

/** The whole answer for an error. Also for what lies at no binding's path. */
export function refusal(error: A2AError, headers: RequestHeaders, challenges: readonly string[] = []): WireResponse {
  const { http: status } = errorRow(error.reason);
  const { allow } = error.metadata;
  return {
    status,
    headers: {
      "content-type": acceptedType(headers),
      ...errorHeaders(error, status, challenges),
      ...(allow !== undefined && { allow }),
    },
    body: statusText(error),
  };
}

/** The answer at a path that is nobody's. */
export function nothingHere(headers: RequestHeaders): WireResponse {
  return refusal(new A2AError("METHOD_NOT_FOUND", "There is nothing at this path"), headers);
}
