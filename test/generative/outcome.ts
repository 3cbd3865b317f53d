import { type DescMessage, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import type { Call } from "../../src/a2a/call.js";
import { A2AError } from "../../src/a2a/errors.js";
import type { Handler } from "../../src/a2a/handler.js";
import { streamingOf, unaryOf } from "../../src/a2a/map-handler.js";
import { A2AService } from "../../src/a2a/types.js";

/** What a call came to, without what is another each time: ids are numbered, times are `"time"`. */
export type Outcome = { readonly answer: JsonValue } | { readonly error: Refusal };

/** A refusal, as it is the same on every wire. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
  readonly violations: readonly string[];
}

/** gRPC carries errors in trailers, which take only so much; a longer one is cut there. */
const CUT = "…";

/** Calls an operation: its answer, the first `events` of its stream (default 20), or its refusal. `user` is called `(user)` in it. */
export async function outcomeOf(
  handler: Handler,
  key: keyof Handler,
  request: Message,
  { user, events = 20, call = {} }: { user: string; events?: number | undefined; call?: Call },
): Promise<Outcome> {
  const { output } = A2AService.method[key];
  const write = (message: Message) => toJson<DescMessage>(output, message);
  try {
    if (A2AService.method[key].methodKind === "unary") {
      const answer = await unaryOf(handler, key)(request as never, call);
      return { answer: normalised(write(answer as Message), user) };
    }
    const read: JsonValue[] = [];
    for await (const event of streamingOf(handler, key)(request as never, call)) {
      read.push(write(event as Message));
      if (read.length === events) break;
    }
    return { answer: normalised(read, user) };
  } catch (error) {
    if (error instanceof A2AError) return { error: refusalOf(error, user) };
    throw error;
  }
}

function refusalOf({ reason, message, violations }: A2AError, user: string): Refusal {
  const listed = violations.map(({ path, rule, description }) => `${path} ${rule} ${description}`);
  return normalised({ reason, message, violations: listed }, user) as unknown as Refusal;
}

/** Whether two outcomes are the same, as far as both wires could carry them. */
export function isSame(one: Outcome, other: Outcome): boolean {
  if ("answer" in one || "answer" in other) return JSON.stringify(one) === JSON.stringify(other);
  const [{ error: a }, { error: b }] = [one, other];
  const few = Math.min(a.violations.length, b.violations.length);
  return (
    a.reason === b.reason &&
    uncut(a.message, b.message) &&
    few > 0 === Math.max(a.violations.length, b.violations.length) > 0 &&
    JSON.stringify(a.violations.slice(0, few)) === JSON.stringify(b.violations.slice(0, few))
  );
}

function uncut(one: string, other: string): boolean {
  if (one === other) return true;
  const [shorter = "", longer = ""] = [one, other].sort((a, b) => a.length - b.length);
  return shorter.endsWith(CUT) && longer.startsWith(shorter.slice(0, -1));
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;

function normalised(json: JsonValue, user: string): JsonValue {
  const ids = new Map<string, string>();
  const name = (id: string) => {
    const known = ids.get(id) ?? `id-${ids.size + 1}`;
    ids.set(id, known);
    return known;
  };
  return JSON.parse(JSON.stringify(json), (key: string, value: unknown) => {
    if (typeof value !== "string") return value;
    if (key === "timestamp") return "time";
    if (key === "nextPageToken" && value !== "") return "token";
    return value.replaceAll(user, "(user)").replace(UUID, name);
  }) as JsonValue;
}
