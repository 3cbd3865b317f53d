import { connect, type Socket } from "node:net";
import type { Request } from "./hostile-corpus.js";

/** What became of a connection. */
export interface Seen {
  /** The statuses of its answers, as they are counted: `HTTP 400`, `gRPC 3`, `nothing`, `hang`. */
  readonly statuses: readonly string[];
  /** The bytes that came, as text. */
  readonly text: string;
}

/** Longer than any answer takes. */
const HANG_MS = 10_000;
/** What is quiet for so long has begun a stream, or waits for more. */
const QUIET_MS = 60;

/** Bytes of an HTTP/1.1 request. Its length is said, unless its headers say something of it themselves. */
export function http1({ method, path, headers, body }: Request): Buffer {
  const isFramed = headers.some(([name]) => name === "content-length" || name === "transfer-encoding");
  const hasHost = headers.some(([name]) => name === "host");
  const lines = [
    `${method} ${path} HTTP/1.1`,
    ...(hasHost ? [] : ["host: h"]),
    ...(isFramed || (body.length === 0 && method !== "POST") ? [] : [`content-length: ${body.length}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

/** Sends bytes over a connection of its own, says that there are no more, and waits until the server is done with it. */
export async function overHttp1(port: number, bytes: Buffer): Promise<Seen> {
  const { read, hung } = await converse(port, bytes, { endsAtOnce: true });
  const text = read.toString("latin1");
  const http = [...text.matchAll(/(?:^|\n|\})HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => `HTTP ${status}`);
  const grpc = [...text.matchAll(/grpc-status: (\d+)/gi)].map(([, status]) => `gRPC ${status}`);
  const final = http.filter((status) => status !== "HTTP 100" && status !== "HTTP 102");
  return { statuses: [...final, ...grpc, ...(final.length === 0 ? ["nothing"] : []), ...(hung ? ["hang"] : [])], text };
}

/** The statuses that HPACK has numbers for (RFC 7541 appendix A). */
const INDEXED: Readonly<Record<number, string>> = {
  8: "200",
  9: "204",
  10: "206",
  11: "304",
  12: "400",
  13: "404",
  14: "500",
};
const FRAME_HEAD = 9;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const GOAWAY = 7;
const END_STREAM = 1;
const END_HEADERS = 4;

/** Bytes of an HTTP/2 connection with one request. */
export function http2({ method, path, headers, body }: Request): Buffer {
  const all = [[":method", method], [":scheme", "http"], [":authority", "h"], [":path", path], ...headers] as const;
  const block = Buffer.concat(
    all.map(([name, value]) => Buffer.concat([Buffer.from([0]), literal(name), literal(value)])),
  );
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frame(SETTINGS, 0, 0, Buffer.alloc(0)),
    frame(HEADERS, END_HEADERS, 1, block),
    frame(DATA, END_STREAM, 1, body),
  ]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length & 0xffffff, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A string literal without Huffman coding (RFC 7541 §5.2). */
function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 0x80);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** The same over HTTP/2. Who has closed its half can't be answered there, so it is closed only when nothing comes any more. */
export async function overHttp2(port: number, bytes: Buffer): Promise<Seen> {
  const { read, hung } = await converse(port, bytes, { endsAtOnce: false });
  const statuses: string[] = hung ? ["hang"] : [];
  for (let at = 0; at + FRAME_HEAD <= read.length; ) {
    const length = read.readUIntBE(at, 3);
    const type = read[at + 3];
    const first = read[at + FRAME_HEAD] ?? 0;
    // The first HEADERS of an answer begin with its status; trailers don't.
    if (type === HEADERS && (first & 0x80) !== 0 && INDEXED[first & 0x7f] !== undefined)
      statuses.push(`HTTP ${INDEXED[first & 0x7f]}`);
    else if (type === RST_STREAM || type === GOAWAY)
      statuses.push(
        type === GOAWAY
          ? `GOAWAY ${read.readUInt32BE(at + FRAME_HEAD + 4)}`
          : `RST_STREAM ${read.readUInt32BE(at + FRAME_HEAD)}`,
      );
    at += FRAME_HEAD + length;
  }
  return { statuses: statuses.length === 0 ? ["nothing"] : statuses, text: read.toString("latin1") };
}

/** Writes, reads until the server closes; leaves a stream that has begun. */
function converse(
  port: number,
  bytes: Buffer,
  { endsAtOnce }: { endsAtOnce: boolean },
): Promise<{ read: Buffer; hung: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    let hung = false;
    let quiet: NodeJS.Timeout | undefined;
    const late = setTimeout(() => {
      hung = true;
      socket.destroy();
    }, HANG_MS);
    const hasStream = () =>
      /\r\ncontent-type: (text\/event-stream|application\/(grpc|connect\+))/i.test(
        String(chunks[0]?.toString("latin1")),
      );
    const listen = () => {
      clearTimeout(quiet);
      quiet = setTimeout(() => {
        if (!endsAtOnce) socket.end();
        else if (hasStream()) socket.destroy();
      }, QUIET_MS);
    };
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      listen();
    });
    socket.on("end", () => socket.end());
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(late);
      clearTimeout(quiet);
      resolve({ read: Buffer.concat(chunks), hung });
    });
    socket.write(bytes);
    if (endsAtOnce) socket.end();
    else listen();
  });
}
