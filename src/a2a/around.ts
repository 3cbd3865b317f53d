import type { Call } from "./call.js";
import type { Decorator, Handler } from "./handler.js";
import { mapHandler, streamingOf, unaryOf } from "./map-handler.js";

type Next = (call?: Call) => Promise<void>;

/**
 * A decorator of every operation alike: `run` runs about each call; a stream counts until its end. `next` may be given another Call.
 * What `run` throws is what the caller gets; one that doesn't call `next` must throw.
 */
export function around(run: (operation: keyof Handler, call: Call, next: Next) => Promise<void>): Decorator {
  return (handler) =>
    mapHandler({
      unary: (key) => async (request, call) => {
        let answer: unknown;
        await run(key, call, async (other = call) => {
          answer = await unaryOf(handler, key)(request, other);
        });
        return answer;
      },
      streaming: (key) => (request, call) =>
        aroundStream(
          (next) => run(key, call, next),
          (other = call) => streamingOf(handler, key)(request, other),
        ),
    });
}

/** Runs `run` beside the stream: `next` opens it, and resolves when it has been read to its end, or let go. */
async function* aroundStream(
  run: (next: Next) => Promise<void>,
  open: (call?: Call) => AsyncIterable<unknown>,
): AsyncGenerator<unknown, void, void> {
  let opened: (stream: AsyncIterable<unknown>) => void = () => {};
  let ended: (failed?: { readonly error: unknown }) => void = () => {};
  const stream = new Promise<AsyncIterable<unknown>>((resolve) => {
    opened = resolve;
  });
  const end = new Promise<void>((resolve, reject) => {
    ended = (failed) => (failed === undefined ? resolve() : reject(failed.error));
  });
  end.catch(() => {}); // `run` may never ask
  const running = run(async (call) => {
    opened(open(call));
    await end;
  });
  running.catch(() => {}); // awaited below, once the stream is over
  try {
    const source = await Promise.race([stream, running]);
    if (source !== undefined) yield* source;
  } catch (error) {
    ended({ error });
    await running; // may translate the error by throwing another
    throw error;
  } finally {
    ended();
  }
  await running;
}
