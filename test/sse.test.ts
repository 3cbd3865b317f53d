import { create, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { A2AError } from "../src/a2a/errors.js";
import { setPosition } from "../src/a2a/position.js";
import { StreamResponseSchema } from "../src/a2a/types.js";
import { eventFrame, eventFrames, HEARTBEAT, parseEvents } from "../src/bindings/sse.js";
import { type Runtime, systemRuntime } from "../src/runtime/runtime.js";

function streamOf(chunks: readonly (string | Uint8Array)[]): {
  stream: ReadableStream<Uint8Array>;
  canceled: () => boolean;
} {
  let canceled = false;
  const waiting = chunks.map((chunk) => (typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk));
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = waiting.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
    cancel() {
      canceled = true;
    },
  });
  return { stream, canceled: () => canceled };
}

async function parse(
  chunks: readonly (string | Uint8Array)[],
  max = 1_000_000,
): Promise<{ data: string; id: string | undefined }[]> {
  const events = [];
  for await (const event of parseEvents(streamOf(chunks).stream, max)) events.push(event);
  return events;
}

describe("the reader of an event stream", () => {
  const cases: [string, string, (string | [string, string])[]][] = [
    ["an event", "data: a\n\n", ["a"]],
    ["no space after the colon", "data:a\n\n", ["a"]],
    ["only one space is taken off", "data:  a\n\n", [" a"]],
    ["several data lines", 'data: {"a":\ndata:1}\r\n\r\n', ['{"a":\n1}']],
    ["CR", "data: a\r\rdata: b\r\r", ["a", "b"]],
    ["all line ends mixed", "data: a\rdata: b\ndata: c\r\n\n", ["a\nb\nc"]],
    ["a byte order mark", "\ufeffdata: a\n\n", ["a"]],
    ["comments, also right behind an id", ": hi\n\nid: 1\n: ping\ndata: a\n\n: ping\n\n", [["a", "1"]]],
    ["an id of one event isn't the next one's", "id: 1\ndata: a\n\ndata: b\n\n", [["a", "1"], "b"]],
    ["an id with a NUL is none", "id: 1\0\ndata: a\n\n", ["a"]],
    ["empty data", "data\n\ndata:\n\nid: 1\n\ndata: a\n\n", ["a"]],
    ["fields that nobody knows", "event: x\nretry: 5\nfoo\nfoo: bar\n data: b\ndata: a\n\n", ["a"]],
    ["an event that the end cuts off", "data: a\n\ndata: b\n", ["a"]],
    ["a line that the end cuts off", "data: a\n\ndata: b", ["a"]],
    ["nothing", "", []],
  ];
  test.each(cases)("takes %s, however the bytes are cut", async (_what, text, expected) => {
    const events = expected.map((event) =>
      typeof event === "string" ? { data: event, id: undefined } : { data: event[0], id: event[1] },
    );
    expect(await parse([text])).toEqual(events);
    const bytes = new TextEncoder().encode(text);
    expect(await parse([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(events);
  });

  test("gives the same events for every way to cut the same bytes", async () => {
    const line = fc.oneof(
      fc.constantFrom("data: 😀é", "data:x", "id: 7", ": c", "", "data", "event: e"),
      fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => `data: ${text.replace(/[\r\n]/g, "")}`),
    );
    const text = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n"))).map((lines) => lines.flat().join(""));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(400)), async (whole, cuts) => {
        const bytes = new TextEncoder().encode(whole);
        const at = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        expect(await parse(pieces)).toEqual(await parse([whole]));
      }),
    );
  });

  test("takes an event of 5 MiB in small pieces", async () => {
    const data = "x".repeat(5 * 1024 * 1024);
    const text = `data: ${data}\n\n`;
    const pieces = Array.from({ length: Math.ceil(text.length / 16_384) }, (_, at) =>
      text.slice(at * 16_384, (at + 1) * 16_384),
    );
    expect(await parse(pieces, 6_000_000)).toEqual([{ data, id: undefined }]);
  });

  test.each([
    ["a line without an end", Array.from({ length: 40 }, () => "x".repeat(100))],
    ["a comment without an end", [":", ...Array.from({ length: 40 }, () => "x".repeat(100))]],
    ["a whole line", [`data: ${"x".repeat(2_000)}\n\n`]],
    ["lines without an end", Array.from({ length: 2_000 }, () => "data:\n")],
    ["empty lines, which cost memory too", Array.from({ length: 250 }, () => "data:\n")],
  ])("stops at %s with a typed error, and cancels", async (_what, chunks) => {
    const { stream, canceled } = streamOf(chunks);
    const read = async () => {
      for await (const _event of parseEvents(stream, 1_000));
    };
    await expect(read()).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
    expect(canceled()).toBe(true);
  });

  test("cancels when its reader stops", async () => {
    const { stream, canceled } = streamOf(["data: a\n\n", "data: b\n\n", "data: c\n\n"]);
    for await (const _event of parseEvents(stream, 1_000)) break;
    expect(canceled()).toBe(true);
  });
});

describe("the writer of an event stream", () => {
  const event = (position?: string): Message => {
    const response = create(StreamResponseSchema);
    return position === undefined ? response : setPosition(response, position);
  };
  const writer = { event: () => "E", error: (thrown: unknown) => `error ${(thrown as Error).message}` };
  let timers: (() => void)[] = [];
  const runtime: Runtime = {
    ...systemRuntime,
    after(_delayMs, act) {
      timers.push(act);
      return {
        cancel() {
          timers = timers.filter((timer) => timer !== act);
        },
      };
    },
  };
  afterEach(() => {
    timers = [];
  });

  /** A source whose steps are settled by hand. */
  function source() {
    const pulls: { resolve(step: IteratorResult<Message>): void; reject(error: unknown): void }[] = [];
    let returned = 0;
    const rest: AsyncIterator<Message> = {
      next: () => new Promise((resolve, reject) => pulls.push({ resolve, reject })),
      return: () => {
        returned++;
        return new Promise(() => undefined); // parked, as a generator in an await is
      },
    };
    return { rest, pulls, returned: () => returned };
  }

  function start(rest: AsyncIterator<Message>) {
    const caller = new AbortController();
    const draining = new AbortController();
    const frames = eventFrames(
      { first: event("1"), rest },
      writer,
      { runtime, heartbeatMs: 1, draining: draining.signal },
      caller.signal,
    );
    return { frames, caller, draining };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const end = { done: true, value: undefined };

  test("writes an id only for an event that has a position, and never a broken line", () => {
    expect(eventFrame("{}", "7")).toBe("id: 7\ndata: {}\n\n");
    expect(eventFrame("{}")).toBe("data: {}\n\n");
    for (const position of ["7\ndata: evil", "7\r", "\0"]) expect(eventFrame("{}", position)).toBe("data: {}\n\n");
  });

  test("asks for the next event only when the last frame was taken, and beats only while somebody waits", async () => {
    const { rest, pulls } = source();
    const { frames } = start(rest);
    expect((await frames.next()).value).toBe("id: 1\ndata: E\n\n");
    await turn();
    expect([pulls.length, timers.length]).toEqual([0, 0]); // back-pressure: nothing is asked for, nothing beats

    const quiet = frames.next();
    await turn();
    expect([pulls.length, timers.length]).toEqual([1, 1]);
    timers[0]?.();
    expect((await quiet).value).toBe(HEARTBEAT);
    expect(timers).toEqual([]);

    const next = frames.next();
    await turn();
    expect(pulls.length).toBe(1); // still the same step
    pulls[0]?.resolve({ done: false, value: event() });
    expect((await next).value).toBe("data: E\n\n");
    const last = frames.next();
    await turn();
    pulls[1]?.resolve({ done: true, value: undefined });
    expect(await last).toEqual(end);
    expect(timers).toEqual([]);
  });

  test.each(["caller", "draining"] as const)(
    "ends when it is over for the %s, even while the source is parked",
    async (who) => {
      const { rest, returned } = source();
      const started = start(rest);
      await started.frames.next();
      const waiting = started.frames.next();
      await turn();
      started[who].abort();
      expect(await waiting).toEqual(end);
      expect(returned()).toBe(1);
      expect(timers).toEqual([]);
    },
  );

  test("ends with a frame for an error, and quietly when the caller has gone", async () => {
    for (const gone of [false, true]) {
      const { rest, pulls } = source();
      const { frames, caller } = start(rest);
      await frames.next();
      const next = frames.next();
      await turn();
      pulls[0]?.reject(new A2AError("INTERNAL", "broken"));
      if (gone) caller.abort();
      expect(await next).toEqual(gone ? end : { done: false, value: "data: error broken\n\n" });
      expect(await frames.next()).toEqual(end);
    }
  });

  test("leaves no listener behind and no rejection unhandled, however it ends", async () => {
    const { rest, pulls, returned } = source();
    const { frames, caller } = start(rest);
    await frames.next();
    const waiting = frames.next();
    await turn();
    caller.abort();
    await waiting;
    pulls[0]?.reject(new Error("too late"));
    await turn();
    const other = source();
    const second = start(other.rest);
    await second.frames.next();
    expect(await second.frames.return()).toEqual(end);
    expect([returned(), other.returned()]).toEqual([1, 1]);
  });
});
