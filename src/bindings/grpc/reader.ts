import { release } from "../binding.js";

/** Reads an iterator until somebody has had enough. */
export interface Reader<T> {
  /** The next step; `undefined` as soon as one of the signals aborts. */
  next(): Promise<IteratorResult<T> | undefined>;
  /** Lets go of the iterator and the signals. */
  close(): void;
}

/**
 * Reads an iterator that may be parked in an await for ever. When `gone` aborts the iterator is let go at once, whether somebody waits
 * for a step or not; when `draining` does, before the next step. One listener a signal for the whole stream: `Promise.race` with a promise
 * that lives as long as the stream would keep every step.
 */
export function createReader<T>(iterator: AsyncIterator<T>, gone: AbortSignal, draining: AbortSignal): Reader<T> {
  let wake: (() => void) | undefined;
  const stop = () => wake?.();
  function close(): void {
    gone.removeEventListener("abort", leave);
    draining.removeEventListener("abort", stop);
    release(iterator);
  }
  function leave(): void {
    stop();
    close();
  }
  gone.addEventListener("abort", leave);
  draining.addEventListener("abort", stop);
  return {
    next: () =>
      new Promise((resolve, reject) => {
        wake = () => resolve(undefined);
        if (gone.aborted || draining.aborted) wake();
        else iterator.next().then(resolve, reject);
      }),
    close,
  };
}
