import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Request } from "./hostile-corpus.js";
import type { Seen } from "./hostile-sockets.js";

const HANG_MS = 10_000;
const QUIET_MS = 60;
/** Then another session begins: what one request leaves behind may hurt the next ones. */
const REQUESTS_PER_SESSION = 200;

/** Sends requests over an HTTP/2 library that is in order, many to a session. */
export interface Http2Caller {
  /** `undefined` for a request that the library itself doesn't send. */
  call(request: Request): Promise<Seen | undefined>;
  close(): void;
}

export function createHttp2Caller(port: number): Http2Caller {
  let session: ClientHttp2Session | undefined;
  let requests = 0;

  function open(): ClientHttp2Session {
    if (session !== undefined && !session.closed && !session.destroyed && requests++ < REQUESTS_PER_SESSION)
      return session;
    session?.close();
    requests = 0;
    session = connect(`http://127.0.0.1:${port}`);
    session.on("error", () => undefined);
    return session;
  }

  return {
    async call(request) {
      try {
        return await answerTo(start(open(), request), request.body);
      } catch {
        return undefined;
      }
    },
    close: () => session?.destroy(),
  };
}

/** @throws for headers that HTTP/2 doesn't have. */
function start(session: ClientHttp2Session, { method, path, headers }: Request): ClientHttp2Stream {
  return session.request({ ":method": method, ":path": path, ...Object.fromEntries(headers) });
}

function answerTo(stream: ClientHttp2Stream, body: Buffer): Promise<Seen> {
  return new Promise((resolve) => {
    const statuses: string[] = [];
    let text = "";
    let quiet: NodeJS.Timeout | undefined;
    const late = setTimeout(() => {
      statuses.push("hang");
      stream.destroy();
    }, HANG_MS);
    const note = (headers: object) => {
      const { ":status": status, "grpc-status": code, "grpc-message": message } = headers as Record<string, unknown>;
      if (status !== undefined && status !== 200) statuses.push(`HTTP ${String(status)}`);
      if (code !== undefined) statuses.push(`gRPC ${String(code)}`);
      text += String(message ?? "");
    };
    stream.on("response", note);
    stream.on("trailers", note);
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      clearTimeout(quiet);
      quiet = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), QUIET_MS); // a stream that has begun
    });
    stream.on("error", () => undefined);
    stream.on("close", () => {
      clearTimeout(late);
      clearTimeout(quiet);
      if (stream.rstCode !== 0) statuses.push(`RST_STREAM ${stream.rstCode}`);
      resolve({ statuses: statuses.length === 0 ? ["nothing"] : statuses, text });
    });
    stream.end(body);
  });
}
