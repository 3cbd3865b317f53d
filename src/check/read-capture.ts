import { parseJsonText } from "../bindings/json.js";
import { parseEvents } from "../bindings/sse.js";

/** Deeper JSON than any parser of protobuf takes. */
const MAX_DEPTH = 200;

/** One payload of a capture: JSON, what should have been JSON, or bytes. */
export interface Captured {
  /** Where there are several: its line, from 1. */
  readonly line?: number;
  /** Of a stream: which event, from 1. */
  readonly event?: number;
  readonly json?: unknown;
  /** Why it is no JSON. */
  readonly broken?: string;
  readonly bytes?: Uint8Array;
}

/**
 * Takes a capture apart: one JSON payload, one on each line (NDJSON, whose first line or most of them are JSON), the events of a stream, or
 * protobuf.
 * @param isText the type isn't known, so that what could be either is text.
 */
export async function readCapture(bytes: Uint8Array, isText: boolean): Promise<Captured[]> {
  const text = textOf(bytes);
  if (text === undefined) return [{ bytes }];
  const trimmed = text.trim();
  if (trimmed === "") return bytes.length === 0 || isText ? [] : [{ bytes }];
  if (/^(data|event|id|retry)?:/m.test(trimmed) && !/^[[{"]/.test(trimmed)) return readStream(`${text}\n\n`);
  const whole = readJson(trimmed);
  const lines = text.split(/\r?\n/).map((line, index) => ({ line: index + 1, text: line.trim() }));
  const written = lines.filter((line) => line.text !== "");
  if (whole.broken === undefined || written.length < 2) return [whole];
  const each = written.map(({ line, text: one }): Captured => ({ line, ...readJson(one) }));
  const broken = each.filter((one) => one.broken !== undefined).length;
  return each[0]?.broken === undefined || broken * 2 < each.length ? each : [whole];
}

/** `undefined` for what no text has: bytes that are no UTF-8, control characters. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return /(?![\t\n\r])\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

async function readStream(text: string): Promise<Captured[]> {
  const events: Captured[] = [];
  const body = new Blob([text]).stream();
  for await (const { data } of parseEvents(body, text.length))
    events.push({ event: events.length + 1, ...readJson(data) });
  return events;
}

function readJson(text: string): Captured {
  try {
    return { json: parseJsonText(text, MAX_DEPTH) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { broken: cause instanceof Error ? cause.message : String(cause) };
  }
}
