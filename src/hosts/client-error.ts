import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { Duplex } from "node:stream";
import type { Runtime } from "../runtime/runtime.js";

/** For the last bytes of a refusal, in milliseconds. */
const LINGER_MS = 200;

/** What is answered where nothing has been routed, so that there is no binding. */
export interface HttpRefusal {
  readonly code: number;
  readonly phrase: string;
  /** Of gRPC, by name and by number. */
  readonly status: readonly [name: string, number: number];
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const INVALID_ARGUMENT = ["INVALID_ARGUMENT", 3] as const;

/** For a request that doesn't arrive in time. */
export const TOO_SLOW: HttpRefusal = {
  code: 408,
  phrase: "Request Timeout",
  status: ["DEADLINE_EXCEEDED", 4],
  message: "The request took too long to arrive",
};

/** For CONNECT: nothing here is a proxy. */
export const NO_TUNNEL: HttpRefusal = {
  code: 405,
  phrase: "Method Not Allowed",
  status: ["UNIMPLEMENTED", 12],
  message: "Method not allowed",
  headers: { allow: "GET, POST, DELETE" },
};

const MALFORMED: HttpRefusal = {
  code: 400,
  phrase: "Bad Request",
  status: INVALID_ARGUMENT,
  message: "The request is not valid HTTP",
};

const byParserError: Readonly<Record<string, HttpRefusal>> = {
  HPE_HEADER_OVERFLOW: {
    code: 431,
    phrase: "Request Header Fields Too Large",
    status: INVALID_ARGUMENT,
    message: "The headers are too large",
  },
  ERR_HTTP_REQUEST_TIMEOUT: TOO_SLOW,
};

/** Answers what the HTTP parser couldn't read with a small JSON and closes; only closes if an answer is on its way already. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, answering: boolean): void {
  if (answering || error.code === "ECONNRESET" || !socket.writable) socket.destroy();
  else refuseAndClose(socket, byParserError[error.code ?? ""] ?? MALFORMED, () => socket.destroy());
}

/** Writes a refusal to a connection of HTTP/1.1, and ends it. */
function refuseAndClose(socket: Duplex, refusal: HttpRefusal, written?: () => void): void {
  const text = textOf(refusal);
  const headers = {
    "content-type": "application/json",
    ...refusal.headers,
    "content-length": text.length,
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.code} ${refusal.phrase}\r\n${lines.join("")}\r\n${text}`, written);
}

/** Refuses CONNECT, whose connection Node has let go of; only closes if an answer is on its way already. */
export function answerConnect(socket: Duplex, answering: boolean, runtime: Runtime): void {
  if (answering) {
    socket.destroy();
    return;
  }
  refuseAndClose(socket, NO_TUNNEL);
  socket.resume(); // what is sent behind it, unread, would reset the connection before the answer is read
  const timer = runtime.after(LINGER_MS, () => socket.destroy());
  socket.once("close", () => timer.cancel());
}

/** Refuses a request of HTTP/2, in gRPC's words over gRPC, and lets go of its stream, whether the refusal is read or not. */
export function refuse(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  refusal: HttpRefusal,
  runtime: Runtime,
): void {
  const { stream } = response;
  const timer = runtime.after(LINGER_MS, () => stream.close(constants.NGHTTP2_CANCEL));
  stream.once("close", () => timer.cancel());
  stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("application/grpc")) {
    const [, status] = refusal.status;
    response.writeHead(200, { "content-type": type, "grpc-status": String(status), "grpc-message": refusal.message });
    response.end();
  } else {
    const text = textOf(refusal);
    response.writeHead(refusal.code, {
      "content-type": "application/json",
      ...refusal.headers,
      "content-length": text.length,
    });
    response.end(text);
  }
}

function textOf({ code, status: [status], message }: HttpRefusal): string {
  return JSON.stringify({ error: { code, status, message } });
}
