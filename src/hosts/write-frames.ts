import { type AnyResponse, isHttp2 } from "../bindings/rpc-binding.js";
import { isGone } from "./http.js";

/**
 * Writes an event stream, frame by frame: the next one is asked for when the socket has taken the last, so that a slow reader costs one
 * frame. Resolves when the stream has ended or the caller has gone; never rejects.
 */
export async function writeFrames(frames: AsyncIterable<string>, response: AnyResponse): Promise<void> {
  try {
    for await (const frame of frames) {
      if (isGone(response)) return;
      if (!write(response, frame)) await writable(response);
    }
  } finally {
    response.end();
  }
}

/** The two kinds of response have no common signature of `write`. */
function write(response: AnyResponse, frame: string): boolean {
  return isHttp2(response) ? response.write(frame) : response.write(frame);
}

/** Resolves when the socket takes more, or is gone. */
function writable(response: AnyResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
    if (isGone(response)) done();
  });
}
