import type { ServerHttp2Session } from "node:http2";
import type { Runtime } from "../runtime/runtime.js";

const DEFAULT_PING_INTERVAL_MS = 60_000;
/** What a ping may take at most, in milliseconds. */
const MAX_ANSWER_MS = 20_000;

/**
 * Pings an HTTP/2 session that has been silent for `pingIntervalMs` (default 60 000), and destroys it when nothing comes within as long
 * again, or 20 seconds if that is less. Its peer may be gone; or the session itself: one that Node has ended for a protocol error it
 * neither reads nor closes any more, so that a single malformed frame would cost a socket for as long as the server runs.
 *
 * Whatever comes is a sign of life, not the ping's answer alone: that waits behind all that a slow connection still carries.
 */
export function destroyWhenDead(
  session: ServerHttp2Session,
  runtime: Runtime,
  pingIntervalMs = DEFAULT_PING_INTERVAL_MS,
): void {
  let heard = session.socket.bytesRead;
  let timer = runtime.after(pingIntervalMs, look);
  session.once("close", () => timer.cancel());

  function look(): void {
    if (session.destroyed) return;
    if (isSilent()) {
      session.ping(() => undefined);
      timer = runtime.after(Math.min(pingIntervalMs, MAX_ANSWER_MS), judge);
    } else {
      heard = session.socket.bytesRead;
      timer = runtime.after(pingIntervalMs, look);
    }
  }

  function judge(): void {
    if (session.destroyed) return;
    if (isSilent()) session.destroy();
    else look();
  }

  function isSilent(): boolean {
    return session.socket.bytesRead === heard;
  }
}
