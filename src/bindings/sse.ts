import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../a2a/errors.js";
import { positionOf } from "../a2a/position.js";
import type { StreamResponse } from "../a2a/types.js";
import { type BindingContext, release, type StartedStream } from "./binding.js";

/** Of every event stream: nothing on the way may keep, change or collect it. */
export const streamHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** A comment: a sign of life that no reader sees. */
export const HEARTBEAT = ": \n\n";

/** How a binding writes what goes into `data:`. */
export interface EventWriter {
  event(message: Message): string;
  /** For whatever was thrown after the stream began. */
  error(thrown: unknown): string;
}

/**
 * The frames of a stream, each whole. Ends after the last event, after an error's frame, when the caller goes away, and when the server
 * drains; pulls an event only when a frame is asked for. On a quiet stream that somebody reads, a heartbeat.
 */
export async function* eventFrames(
  { first, rest }: StartedStream,
  writer: EventWriter,
  { runtime, heartbeatMs, draining }: Pick<BindingContext, "runtime" | "heartbeatMs" | "draining">,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const source = awaited(rest);
  const { wake } = source;
  signal.addEventListener("abort", wake);
  draining.addEventListener("abort", wake);
  try {
    yield eventFrame(writer.event(first), positionOf(first as StreamResponse));
    source.pull();
    for (;;) {
      if (signal.aborted || draining.aborted) return;
      const timer = runtime.after(heartbeatMs, wake);
      const step = await source.next().finally(() => timer.cancel());
      if (signal.aborted || draining.aborted || step?.done === true) return;
      if (step === undefined) {
        yield HEARTBEAT;
        continue;
      }
      runtime.at("stream.frame");
      yield eventFrame(writer.event(step.value), positionOf(step.value as StreamResponse));
      source.pull();
    }
  } catch (thrown) {
    if (!signal.aborted) yield eventFrame(writer.error(thrown));
  } finally {
    signal.removeEventListener("abort", wake);
    draining.removeEventListener("abort", wake);
    release(rest);
  }
}

/** One event. The JSON has no line break, for JSON.stringify escapes them. */
export function eventFrame(json: string, position?: string): string {
  return position === undefined || /[\0\r\n]/.test(position)
    ? `data: ${json}\n\n`
    : `id: ${position}\ndata: ${json}\n\n`;
}

/**
 * An iterator that one may stop waiting for, and wait for again: `next()` gives `undefined` when it is woken before the step has come.
 * The one handler on each step also keeps a rejection that nobody waits for any more from being unhandled.
 */
function awaited<T>(iterator: AsyncIterator<T>) {
  let settled: (() => IteratorResult<T>) | undefined;
  let wake: (() => void) | undefined;
  return {
    wake: () => wake?.(),
    pull() {
      settled = undefined;
      iterator.next().then(
        (step) => {
          settled = () => step;
          wake?.();
        },
        (error) => {
          settled = () => {
            throw error;
          };
          wake?.();
        },
      );
    },
    async next(): Promise<IteratorResult<T> | undefined> {
      if (settled === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      wake = undefined;
      return settled?.();
    },
  };
}

/** An event as a reader gets it. */
export interface ServerSentEvent {
  readonly data: string;
  /** Only if this very event carried one. */
  readonly id: string | undefined;
}

/**
 * Reads an event stream as WHATWG describes it, however it is cut. An event that the end of the stream cuts off is none. Cancels the
 * stream when its reader stops.
 *
 * @throws A2AError INVALID_AGENT_RESPONSE when an event is longer than `maxEventLength` characters.
 */
export async function* parseEvents(
  stream: ReadableStream<Uint8Array>,
  maxEventLength: number,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const lines = lineReader(maxEventLength);
  const event = eventReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      for (const line of lines(decoder.decode(value, { stream: true }), event)) {
        const complete = event.line(line);
        if (complete !== undefined) yield complete;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Cuts text into lines at LF, CRLF and CR, wherever the pieces end. */
function lineReader(maxLength: number) {
  let pieces: string[] = [];
  let length = 0;
  let afterReturn = false;
  return function* (text: string, event: { readonly length: number }): Generator<string> {
    let from = 0;
    if (afterReturn && text.length > 0) {
      afterReturn = false;
      if (text.startsWith("\n")) from = 1;
    }
    const breaks = /\r\n|\n|\r/g;
    breaks.lastIndex = from;
    for (let found = breaks.exec(text); found !== null; found = breaks.exec(text)) {
      const line = pieces.join("") + text.slice(from, found.index);
      from = breaks.lastIndex;
      afterReturn = found[0] === "\r" && from === text.length;
      pieces = [];
      length = 0;
      if (event.length + line.length > maxLength) throw tooLong(maxLength);
      yield line;
    }
    const rest = text.slice(from);
    length += rest.length;
    if (event.length + length > maxLength) throw tooLong(maxLength);
    if (rest !== "") pieces.push(rest);
  };
}

/** Puts lines together to events. */
function eventReader() {
  let data: string[] = [];
  let length = 0;
  let id: string | undefined;
  return {
    /** What is held of the event that isn't complete yet. */
    get length() {
      return length;
    },
    line(line: string): ServerSentEvent | undefined {
      if (line === "") {
        const event = data.length === 0 ? undefined : { data: data.join("\n"), id };
        data = [];
        length = 0;
        id = undefined;
        return event === undefined || event.data === "" ? undefined : event;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
      if (field === "data") {
        data.push(value);
        length += line.length + 1; // not of the value: millions of empty ones would cost more than they count
      } else if (field === "id" && !value.includes("\0")) {
        id = value;
      }
      return undefined;
    },
  };
}

function tooLong(maxLength: number): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", `An event of the stream is longer than ${maxLength} characters`);
}
