import type { ClientHttp2Session } from "node:http2";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { refusedStream } from "../../runtime/unreachable.js";

/** Node's 10 count what waits to be sent as well: a larger request that is refused before it has left would refuse its own answer. */
const SESSION_MEMORY_MB = 256;

/** How a connection is asked whether it is still there, in milliseconds. */
export interface Ping {
  /** How long it may say nothing. */
  readonly intervalMs: number;
  /** How long it may take to answer. */
  readonly timeoutMs: number;
}

/**
 * The HTTP/2 connection to a peer: opened at the first request, and again when it is lost. Connect's, with one thing mended: when a
 * request comes just as a ping has timed out, it stops listening to the dead connection, whose error would then end the process.
 */
export function createSessions(baseUrl: string, { intervalMs, timeoutMs }: Ping): Http2SessionManager {
  const pings = { pingIntervalMs: intervalMs, pingTimeoutMs: timeoutMs };
  const sessions = new Http2SessionManager(baseUrl, pings, { maxSessionMemory: SESSION_MEMORY_MB });
  const heard = new WeakSet<ClientHttp2Session>();
  const request = sessions.request.bind(sessions);
  sessions.request = async (...args) => {
    const stream = await request(...args);
    const { session } = stream;
    if (session !== undefined && !heard.has(session as ClientHttp2Session)) {
      heard.add(session as ClientHttp2Session);
      session.on("error", () => {}); // whoever waits on one of its streams is told by that
    }
    return stream;
  };
  return sessions;
}

/** Does it again, once, if the peer refused the stream: then it did nothing, as when it is just about to go away (RFC 9113 §8.7). */
export async function onceMore<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!refusedStream(error)) throw error;
    return attempt();
  }
}
