import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import { baseUrlOf } from "../bindings/grpc/client.js";
import { deadlineOf } from "../client/deadline.js";
import { exchange, isAnswered, MAX_ANSWER_BYTES, MAX_EVENTS, reasonOf } from "./http.js";
import type { Outcome, SpeakerContext } from "./speaker.js";

/** Headers, or trailers: names in lower case. */
export type Metadata = Readonly<Record<string, string | undefined>>;

/** A call of gRPC, carried: the messages as they come, and how it ended. */
export interface CarriedCall {
  readonly contentType: string;
  readonly headers: Metadata;
  /** Ends with the call. What isn't bytes is why it broke. */
  readonly messages: AsyncGenerator<Uint8Array | Outcome>;
  /** Once the messages have ended. */
  trailers(): Metadata;
  release(): void;
}

/** Carries calls of gRPC: over HTTP/2, or as gRPC-Web. Never throws. */
export interface GrpcCarrier {
  call(
    path: string,
    message: Uint8Array,
    headers: Readonly<Record<string, string>>,
    timeoutMs: number,
  ): Promise<CarriedCall | Outcome>;
  close(): void;
}

const TRAILERS_FLAG = 0x80;

/** A message with gRPC's five bytes before it. */
export function frameOf(message: Uint8Array, flags = 0): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame[0] = flags;
  frame.set(message, 5);
  return frame;
}

/** Cuts what comes into frames. What isn't a frame is why it broke. */
export async function* framesOf(
  chunks: AsyncIterable<Uint8Array>,
  url: string,
): AsyncGenerator<{ readonly flags: number; readonly bytes: Uint8Array } | Outcome> {
  let held = Buffer.alloc(0);
  let count = 0;
  try {
    for await (const chunk of chunks) {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 5) {
        const length = held.readUInt32BE(1);
        if (length > MAX_ANSWER_BYTES || ++count > MAX_EVENTS + 1) {
          yield { case: "broken", why: `a message of ${length} bytes, the ${count}. of its call` };
          return;
        }
        if (held.length < 5 + length) {
          count--;
          break;
        }
        yield { flags: held[0] ?? 0, bytes: new Uint8Array(held.subarray(5, 5 + length)) };
        held = held.subarray(5 + length);
      }
    }
    if (held.length > 0)
      yield { case: "broken", why: `an answer that ends within a message (${held.length} bytes over)` };
  } catch (error) {
    yield { case: "silent", why: reasonOf(error, url) };
  }
}

/** gRPC over HTTP/2 (§10.1). Connects at the first call. */
export function createHttp2Carrier({ runtime, interface: { url } }: SpeakerContext): GrpcCarrier {
  const base = baseUrlOf(url);
  let session: ClientHttp2Session | undefined;
  const connected = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(base);
      session.on("error", () => {}); // each call hears of it as well
    }
    return session;
  };
  return {
    call(path, message, headers, timeoutMs) {
      const { signal, clear } = deadlineOf(runtime, new AbortController().signal, timeoutMs);
      const own = { ":method": "POST", ":path": path, te: "trailers", "content-type": "application/grpc" };
      const stream = connected().request({ ...own, ...headers });
      signal?.addEventListener("abort", () => stream.destroy(signal.reason));
      const begun = carried(stream, base, clear);
      stream.end(frameOf(message));
      return begun;
    },
    close: () => session?.destroy(),
  };
}

/** A call on a stream of HTTP/2, once its headers have come; or why none came. */
function carried(stream: ClientHttp2Stream, base: string, clear: () => void): Promise<CarriedCall | Outcome> {
  stream.on("close", clear);
  let trailers: IncomingHttpHeaders = {};
  stream.on("trailers", (came: IncomingHttpHeaders) => {
    trailers = came;
  });
  return new Promise((resolve) => {
    stream.on("error", (error: Error) => resolve({ case: "silent", why: reasonOf(error, base) }));
    stream.on("close", () => resolve({ case: "silent", why: "the stream was closed without an answer" }));
    stream.on("response", (came) =>
      resolve({
        contentType: String(came["content-type"] ?? ""),
        headers: flat(came),
        messages: messagesOf(framesOf(stream, base)),
        trailers: () => flat(came["grpc-status"] === undefined ? trailers : came),
        release: () => {
          clear();
          stream.close();
        },
      }),
    );
  });
}

/** gRPC-Web: the trailers are the last frame. */
export function createGrpcWebCarrier(context: SpeakerContext): GrpcCarrier {
  const base = context.interface.url.replace(/\/+$/, "");
  return {
    async call(path, message, headers, timeoutMs) {
      const url = `${base}${path}`;
      const sent = { "content-type": "application/grpc-web+proto", "x-grpc-web": "1", ...headers };
      const answer = await exchange(context, { url, method: "POST", headers: sent, body: frameOf(message), timeoutMs });
      if (!isAnswered(answer)) return answer;
      const { response, type, release } = answer;
      let trailers = Object.fromEntries(response.headers);
      const body: AsyncIterable<Uint8Array> = response.body ?? new Blob([]).stream();
      const onTrailers = (bytes: Uint8Array): void => {
        trailers = { ...trailers, ...readTrailers(bytes) };
      };
      return {
        contentType: type,
        headers: Object.fromEntries(response.headers),
        messages: messagesOf(framesOf(body, url), onTrailers),
        trailers: () => trailers,
        release,
      };
    },
    close() {},
  };
}

async function* messagesOf(
  frames: ReturnType<typeof framesOf>,
  onTrailers?: (bytes: Uint8Array) => void,
): AsyncGenerator<Uint8Array | Outcome> {
  for await (const frame of frames) {
    if (!("flags" in frame)) yield frame;
    else if ((frame.flags & TRAILERS_FLAG) !== 0) onTrailers?.(frame.bytes);
    else yield frame.bytes;
  }
}

function readTrailers(bytes: Uint8Array): Record<string, string> {
  const lines = new TextDecoder()
    .decode(bytes)
    .split(/\r?\n/)
    .filter((line) => line.includes(":"));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).trim().toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
}

function flat(headers: IncomingHttpHeaders): Metadata {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}
