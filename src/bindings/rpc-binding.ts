import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** A request of either HTTP version. */
export type AnyRequest = IncomingMessage | Http2ServerRequest;
/** A response of either HTTP version. */
export type AnyResponse = ServerResponse | Http2ServerResponse;

/** Whether a response is one of HTTP/2. */
export function isHttp2(response: AnyResponse): response is Http2ServerResponse {
  return "stream" in response;
}

/** A binding that speaks to the socket itself, on paths of its own: gRPC and its relatives. */
export interface RpcBinding {
  /** Whether a path (without its query) is one of its services'. */
  owns(path: string): boolean;
  /** Answers a request of either HTTP version, also one of another path, in the form of its wire. Never throws. */
  handle(request: AnyRequest, response: AnyResponse): void;
}
