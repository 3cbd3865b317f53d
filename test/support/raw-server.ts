import { type AddressInfo, createServer, type Socket } from "node:net";

/** A server that answers with exactly these bytes, whatever is asked. */
export interface RawServer {
  readonly url: string;
  /** The requests that came, as text. */
  readonly requests: string[];
  readonly sockets: Set<Socket>;
  close(): Promise<void>;
}

/**
 * Starts one on a free port. `answer` gets each request's text and its number, and writes to the socket; a text that it gives is written,
 * and the connection closed.
 */
export async function startRawServer(
  answer: (request: string, count: number, socket: Socket) => string | undefined,
): Promise<RawServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const head = text.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < head + 4 + length) return;
      const request = text;
      text = "";
      requests.push(request);
      const written = answer(request, requests.length, socket);
      if (written !== undefined) socket.end(written);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a2a`,
    requests,
    sockets,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A whole HTTP answer. */
export function http(status: number, type: string | undefined, body: string, headers = ""): string {
  const contentType = type === undefined ? "" : `content-type: ${type}\r\n`;
  return `HTTP/1.1 ${status} X\r\n${contentType}${headers}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
}

/** The head of an event stream that ends with the connection. */
export const streamHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
