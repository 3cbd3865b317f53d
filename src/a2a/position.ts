import type { StreamResponse } from "./types.js";

const POSITION = Symbol.for("nuncio.position");

/**
 * Notes where in its task's log an event of a stream stands, and gives the event back. Wires carry it beside the message (the SSE
 * `id:`); a caller hands it in again as {@link Call.after}. Set again, the last one stands.
 */
export function setPosition(response: StreamResponse, position: string): StreamResponse {
  return Object.defineProperty(response, POSITION, { value: position, configurable: true });
}

/** The position of an event; `undefined` for one that can't be resumed after, such as a direct Message. */
export function positionOf(response: StreamResponse): string | undefined {
  return (response as StreamResponse & { readonly [POSITION]?: string })[POSITION];
}
