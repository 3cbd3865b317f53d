import type { BindingName } from "nuncio/client";
import { message, send, taskOf } from "../contract/messages.js";
import { runs } from "../support/scripted-agent.js";
import { type EveryWire, everyWire } from "./every-wire.js";
import { corpusOf, type Known, type Request } from "./hostile-corpus.js";
import { mutated, mutatedBytes } from "./hostile-mutations.js";
import { createHttp2Caller, type Http2Caller } from "./hostile-session.js";
import { http1, http2, overHttp1, overHttp2, type Seen } from "./hostile-sockets.js";
import { createRandom, type Random } from "./random.js";

/** What became of many hostile requests. */
export interface Report {
  readonly sent: number;
  /** How often each status was answered. */
  readonly statuses: ReadonlyMap<string, number>;
  /** What must not be, each with the seed that makes it again. The first ones. */
  readonly faults: readonly string[];
  /** The heap in bytes after each {@link SLICE}, its server closed and all garbage collected. Empty where node has no `--expose-gc`. */
  readonly heap: readonly number[];
}

const CONCURRENCY = 16;
const MAX_FAULTS = 20;
/** Requests to one server. */
const SLICE = 1_000;
/** What the heap may grow by in the second half of a run: caches and compiled code do, a leak goes on doing it. */
const HEAP_GROWTH = 12e6;
/** With fewer slices, growth says nothing. */
const MIN_SLICES = 4;
/** Of the keep-alive connections of the client that begins tasks, both ends. */
const IDLE_SOCKETS = 4;

/** Sends so many mutated requests over a wire. The one after n is another one each time, and the same one for the same seed. */
export async function bombard(wire: BindingName, count: number, seed: number): Promise<Report> {
  const tally: Tally = { sent: 0, statuses: new Map(), faults: [], heap: [] };
  for (let begun = 0; begun < count && tally.faults.length < MAX_FAULTS; begun += SLICE) {
    await bombardOnce(wire, { from: seed + begun, to: seed + Math.min(begun + SLICE, count) }, tally);
    const heap = await heapInUse();
    if (heap !== undefined) tally.heap.push(heap);
  }
  const grown = heapGrowth(tally);
  if (grown !== undefined && grown > HEAP_GROWTH)
    tally.faults.push(
      `--wire ${wire} --seed ${seed} --count ${count}: the heap grew by ${(grown / 1e6).toFixed(1)} MB`,
    );
  return tally;
}

/** By how many bytes the heap is larger at the end of a run than in its middle; `undefined` where that can't be said. */
export function heapGrowth({ heap }: Pick<Report, "heap">): number | undefined {
  const middle = heap[Math.floor((heap.length - 1) / 2)];
  const end = heap.at(-1);
  return heap.length < MIN_SLICES || middle === undefined || end === undefined ? undefined : end - middle;
}

/** After a collection of all that is garbage, what finalizers let go of included. */
async function heapInUse(): Promise<number | undefined> {
  if (globalThis.gc === undefined) return undefined;
  runs.clear(); // the agent of the tests remembers each text
  for (let times = 0; times < 2; times++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

interface Tally extends Report {
  sent: number;
  readonly statuses: Map<string, number>;
  readonly faults: string[];
  readonly heap: number[];
}

/** One server, and the requests with these seeds. */
async function bombardOnce(wire: BindingName, { from, to }: { from: number; to: number }, tally: Tally): Promise<void> {
  const before = openSockets();
  const served = await everyWire({ auth: false });
  const port = Number(new URL(served.url).port);
  const caller = createHttp2Caller(port);
  const corpus = corpusOf(wire, await knownTasks(served));
  let seed = from;
  const worker = async () => {
    while (seed < to) {
      const own = seed++;
      const { how, seen } = await shoot(wire, corpus, createRandom(own), { port, caller });
      tally.sent += 1;
      const statuses = seen?.statuses ?? ["not sent"];
      for (const status of statuses) tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      const fault = seen === undefined ? undefined : faultIn(seen);
      if (fault !== undefined) tally.faults.push(`--wire ${wire} --seed ${own} --count 1: ${fault} (${how})`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  caller.close();
  const again = `--wire ${wire} --seed ${from} --count ${to - from}`;
  for (const error of served.errors) tally.faults.push(`${again}: an error of ours: ${describe(error)}`);
  const left = await socketsLeft(before + IDLE_SOCKETS);
  if (left > 0) tally.faults.push(`${again}: ${left} sockets were left open`);
  if (!(await isAlive(served))) tally.faults.push(`${again}: the server answers no more`);
  await served.close();
}

/** What the process has open, on both sides. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

/** How many more are open than may be, when those that are closing have had their time. */
async function socketsLeft(expected: number): Promise<number> {
  for (let tries = 0; tries < 100 && openSockets() > expected; tries++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  return Math.max(0, openSockets() - expected);
}

async function isAlive({ url }: EveryWire): Promise<boolean> {
  const answer = await fetch(`${url}/a2a/tasks`, {
    headers: { "a2a-version": "1.0" },
    signal: AbortSignal.timeout(5_000),
  });
  return answer.ok && Array.isArray(((await answer.json()) as { tasks?: unknown }).tasks);
}

/** A task that asks, and one that has ended. */
async function knownTasks({ over }: EveryWire): Promise<Known> {
  const handler = over("jsonrpc", "anonymous");
  const begin = async (text: string) => taskOf(await handler.sendMessage(send(message(text)), {})).id;
  return { open: await begin("ask"), done: await begin("Ada") };
}

async function shoot(
  wire: BindingName,
  corpus: readonly Request[],
  random: Random,
  { port, caller }: { port: number; caller: Http2Caller },
): Promise<{ how: string; seen: Seen | undefined }> {
  const valid = random.pick(corpus);
  const { request, how } = mutated(valid, random, corpus);
  if (wire !== "grpc") {
    if (random.chance(0.75)) return { how, seen: await overHttp1(port, http1(request)) };
    const one = mutatedBytes(http1(random.chance(0.5) ? valid : request), random, corpus.map(http1));
    return { how: one.how, seen: await overHttp1(port, one.bytes) };
  }
  if (random.chance(0.6)) return { how, seen: await caller.call(request) };
  if (random.chance(0.5)) return { how, seen: await overHttp2(port, http2(request)) };
  const one = mutatedBytes(http2(valid), random, corpus.map(http2));
  return { how: one.how, seen: await overHttp2(port, one.bytes) };
}

/** INTERNAL, UNKNOWN and DATA_LOSS say that it is our fault. */
const OUR_FAULT = new Set(["hang", "gRPC 2", "gRPC 13", "gRPC 15", "internal", "unknown", "data_loss"]);

/** The end of a Connect stream says its code in words, below HTTP's 200. */
function codesOfConnect(text: string): string[] {
  return [...text.matchAll(/"code":"(\w+)"/g)].map(([, code = ""]) => code);
}

function faultIn({ statuses, text }: Seen): string | undefined {
  const bad = [...statuses, ...codesOfConnect(text)].find((told) => /^HTTP 5/.test(told) || OUR_FAULT.has(told));
  if (bad !== undefined && !ASKED_FOR.some((pattern) => pattern.test(`${bad} ${text}`)))
    return `${bad} ${excerpt(text)}`;
  if (/node_modules|\bat [\w.<>]+ \(|<html/i.test(text)) return `it tells too much: ${excerpt(text)}`;
  return undefined;
}

/** What the protocols themselves want for what is asked. */
const ASKED_FOR: readonly RegExp[] = [
  /^(gRPC 13|internal) .*do not know how to decompress/s, // gRPC: a message that is compressed, and doesn't say how
  /^HTTP 501 .*"unimplemented".*unknown compression/s, // Connect's status for an encoding that isn't known
  /^HTTP 504 .*"deadline_exceeded"/s, // Connect's status when the caller's own deadline has passed
];

function excerpt(text: string): string {
  return JSON.stringify(text.slice(-300));
}

function describe(error: object): string {
  const { err } = error as { err?: unknown };
  return err instanceof Error
    ? `${err.message} ${err.stack?.split("\n").slice(1, 4).join(" ")}`
    : JSON.stringify(error);
}
