import type { Duplex } from "node:stream";

/** What a request that isn't HTTP is answered with. Nothing has been routed yet, so it has no binding. */
const answers: Readonly<Record<string, readonly [status: number, phrase: string, name: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "INVALID_ARGUMENT", "The headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "DEADLINE_EXCEEDED", "The request took too long to arrive"],
};
const malformed = [400, "Bad Request", "INVALID_ARGUMENT", "The request is not valid HTTP"] as const;

/** Answers what the HTTP parser couldn't read with a small JSON and closes; only closes if an answer is on its way already. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, answering: boolean): void {
  if (answering || error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, phrase, status, message] = answers[error.code ?? ""] ?? malformed;
  const body = JSON.stringify({ error: { code, status, message } });
  const head = [
    `HTTP/1.1 ${code} ${phrase}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
