import type { Call } from "./call.js";
import type { Handler } from "./handler.js";
import { mapHandler, streamingOf, unaryOf } from "./map-handler.js";
import { RESUME_EXTENSION } from "./our-names.js";
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
  return (response as StreamResponse & { readonly [POSITION]?: string })[POSITION] ?? positionInMetadata(response);
}

function positionInMetadata({ payload }: StreamResponse): string | undefined {
  const position = payload.value?.metadata?.[RESUME_EXTENSION];
  return typeof position === "string" ? position : undefined;
}

/** The Handler, with the positions of events in their metadata for callers that activate {@link RESUME_EXTENSION}. */
export function withPositions(handler: Handler): Handler {
  return mapHandler({
    unary: (key) => (request, call) => unaryOf(handler, key)(request, withoutResume(call)),
    streaming: (key) => (request, call) => {
      const inner = withoutResume(call);
      const events = streamingOf(handler, key)(request, inner) as AsyncIterable<StreamResponse>; // all streams are of these
      return inner === call ? events : saying(events);
    },
  });
}

/** It is between the caller and the wire: the agent doesn't hear of it. */
function withoutResume(call: Call): Call {
  if (!call.extensions?.includes(RESUME_EXTENSION)) return call;
  return { ...call, extensions: call.extensions.filter((uri) => uri !== RESUME_EXTENSION) };
}

async function* saying(events: AsyncIterable<StreamResponse>): AsyncGenerator<StreamResponse, void, void> {
  for await (const event of events) {
    const position = positionOf(event);
    yield position === undefined ? event : withPosition(event, position);
  }
}

/** A copy: what was read from the log may be at hand for others too. */
function withPosition(event: StreamResponse, position: string): StreamResponse {
  const { payload } = event;
  if (payload.value === undefined) return event;
  const value = { ...payload.value, metadata: { ...payload.value.metadata, [RESUME_EXTENSION]: position } };
  return setPosition({ ...event, payload: { ...payload, value } as StreamResponse["payload"] }, position);
}
