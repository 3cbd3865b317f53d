import { isInterrupted, isTerminal } from "../a2a/task-state.js";
import { type Task, TaskState } from "../a2a/types.js";
import type { Runtime } from "../runtime/runtime.js";
import { type EncodedEvent, Entry, encodeEvent, kindNumber } from "./event.js";
import {
  type AppendRequest,
  type AppendResult,
  everyOwner,
  type Head,
  type Lease,
  type Reader,
  type Scope,
} from "./journal.js";
import type { StoredHead } from "./schema.js";

/** How long a key keeps its meaning. */
export const KEY_WINDOW_MS = 24 * 60 * 60 * 1_000;

/** What the journal itself may ask beside. */
export interface GuardedRequest extends AppendRequest {
  /** The task must be due; else `conflict`. */
  readonly overdue?: boolean;
}

/** An append that was checked and encoded, and waits for its group. */
export interface PreparedAppend {
  readonly kind: "append";
  readonly request: GuardedRequest;
  readonly events: readonly EncodedEvent[];
}

/** A direct reply that is kept under its message's key. */
export interface PreparedReply {
  readonly kind: "reply";
  readonly key: Uint8Array;
  readonly reply: Uint8Array;
}

/** A member of a group. */
export type Prepared = PreparedAppend | PreparedReply;

/** What a group is decided with. */
export interface GroupOptions {
  readonly now: number;
  /** Who appends, and in which slot its tallies are. */
  readonly instance: string;
  readonly slot: number;
  /** See `wantsSnapshot`. */
  readonly snapshotAfter: number;
  /** The task as of exactly this position, if it is at hand. */
  readonly folded: (taskId: string, position: number) => Task | undefined;
  readonly runtime: Pick<Runtime, "at">;
}

/** What became of one member of a group. */
export interface Outcome {
  /** None where a reply was kept. */
  readonly result: AppendResult | undefined;
  /** Empty unless the append is `ok`. */
  readonly entries: readonly NewEntry[];
  /** After the append, if it is `ok`. */
  readonly head?: StoredHead;
}

/** An entry with what its row holds. */
export interface NewEntry {
  readonly kind: number;
  readonly body: Uint8Array;
  readonly stored: Entry;
}

/** Checks what no head can make right, and encodes the events: a caller's mistake throws here, before it can spoil a group. */
export function prepareAppend(request: GuardedRequest): PreparedAppend {
  const events = request.events.map((init) => {
    const encoded = encodeEvent(init, request.epoch ?? 0, request.given === true);
    if (encoded.case === "turnStarted") throw new TypeError("A turn is started by `take`: leave TurnStarted out");
    return encoded;
  });
  if (events.some(({ state }) => state === TaskState.UNSPECIFIED)) throw new TypeError("A status has a state: set one");
  const end = events.findIndex(({ state }) => state !== undefined && isTerminal(state));
  if (end >= 0 && (end < events.length - 1 || request.take !== undefined)) {
    throw new TypeError("Nothing comes after a terminal status: put it last, and take no lease");
  }
  if (request.create !== undefined && events[0]?.case !== "messageReceived") {
    throw new TypeError("A task begins with MessageReceived: put it first");
  }
  return { kind: "append", request, events };
}

/** What the guards say of an append whose key is fresh; nothing if it may go on. Guards that read no row beside the head. */
export function refuse(
  request: GuardedRequest,
  head: StoredHead | undefined,
  now: number,
  instance: string,
): AppendResult | undefined {
  if (request.create !== undefined) return head === undefined ? undefined : { kind: "exists" };
  if (head === undefined || !mayRead(request.reader ?? everyOwner, head)) return { kind: "not-found" };
  if (isTerminal(head.state)) return { kind: "terminal", state: head.state };
  if (request.epoch !== undefined && (request.epoch !== head.epoch || head.holder !== instance))
    return { kind: "fenced" };
  if (request.lease !== undefined && (request.lease !== head.epoch || head.holder === undefined))
    return { kind: "conflict" };
  if (request.idle && head.holder !== undefined) return { kind: "held" };
  if (request.take && head.holder !== undefined && !request.fence && !request.release) return { kind: "held" };
  if (request.overdue && (head.dueAt === undefined || head.dueAt > now)) return { kind: "conflict" };
  if (request.expect !== undefined && request.expect !== head.position) return { kind: "conflict" };
  if (request.seen !== undefined && head.lastMessage > request.seen) return { kind: "conflict" };
  return undefined;
}

/** Whether what belongs to a scope exists for a reader. */
export function mayRead(reader: Reader, { tenant, owner }: Scope): boolean {
  return reader === everyOwner || (reader.tenant === tenant && reader.owner === owner);
}

/** The head after an append that the guards let through, and its entries. Pure. */
export function advance(
  { request, events }: PreparedAppend,
  before: StoredHead | undefined,
  now: number,
  instance: string,
): Outcome & { readonly head: StoredHead } {
  const old = before ?? begin(request, now);
  // A clock that was put back must not move a task back in lists.
  const at = Math.max(now, old.statusAt);
  const entries: NewEntry[] = [];
  let { state, statusAt, lastMessage } = old;
  const add = (event: EncodedEvent) => {
    const stored = new Entry(request.taskId, old.position + entries.length + 1, at, event.body, event.own);
    entries.push({ kind: kindNumber(event.case), body: event.body, stored });
    if (event.case === "messageReceived") lastMessage = stored.position;
    // Who starts a turn works on it.
    const enters = event.case === "turnStarted" ? TaskState.WORKING : event.state;
    if (enters === undefined) return;
    state = enters;
    statusAt = at;
  };
  for (const event of events) add(event);
  const lease = request.take === undefined ? undefined : nextLease(request, old);
  if (request.take !== undefined && lease !== undefined) {
    const { turn, attempt, epoch } = lease;
    const { agentVersion } = request.take;
    const kind = { case: "turnStarted", value: { turn, agentVersion, attempt, instance } } as const;
    add(encodeEvent({ kind }, epoch, true));
  }
  const head: StoredHead = {
    ...old,
    state,
    statusAt,
    lastMessage,
    position: old.position + entries.length,
    ...holding(request, old, instance, lease, isTerminal(state)),
  };
  const { position, epoch, holder } = head;
  const taken = lease && leaseOf(lease, head, entries);
  return { result: { kind: "ok", position, first: old.position + 1, epoch, holder, lease: taken }, entries, head };
}

function begin({ taskId, create }: AppendRequest, now: number): StoredHead {
  if (create === undefined) throw new TypeError("An append to a task that doesn't exist creates it");
  const { scope, principal, agent, skill, contextId } = create;
  return {
    taskId,
    tenant: scope.tenant,
    owner: scope.owner,
    principal: principal.id,
    agent,
    skill,
    contextId,
    state: TaskState.SUBMITTED,
    statusAt: now,
    createdAt: now,
    position: 0,
    lastMessage: 0,
    epoch: 0,
    holder: undefined,
    dueAt: undefined,
    turn: 0,
    attempt: 0,
    snapshot: 0,
  };
}

/** A turn that was taken from its holder goes on in another attempt; otherwise the next one begins. */
type NextLease = Omit<Lease, "head" | "appended">;

function nextLease({ taskId, fence }: AppendRequest, old: StoredHead): NextLease {
  const goesOn = fence === true && old.holder !== undefined;
  const epoch = old.epoch + (fence ? 2 : 1);
  return { taskId, epoch, turn: goesOn ? old.turn : old.turn + 1, attempt: goesOn ? old.attempt + 1 : 1 };
}

function leaseOf({ taskId, epoch, turn, attempt }: NextLease, head: Head, entries: readonly NewEntry[]): Lease {
  return { taskId, epoch, turn, attempt, head, appended: entries.map(({ stored }) => stored) };
}

function holding(
  request: AppendRequest,
  old: StoredHead,
  instance: string,
  lease: NextLease | undefined,
  ended: boolean,
): Pick<StoredHead, "epoch" | "holder" | "dueAt" | "turn" | "attempt"> {
  const { turn, attempt, epoch } = lease ?? { ...old, epoch: old.epoch + (request.fence ? 1 : 0) };
  if (ended) return { epoch, holder: undefined, dueAt: undefined, turn, attempt };
  const given = request.due === undefined ? (lease === undefined ? old.dueAt : undefined) : (request.due ?? undefined);
  const kept = request.fence || request.release ? undefined : old.holder;
  return { epoch, holder: lease === undefined ? kept : instance, dueAt: given, turn, attempt };
}

/**
 * Whether the task is to be stored whole at its new position: about every `after` entries, earlier where it settles, and at growing
 * distances, so that all snapshots of a task together cost no more than its log.
 */
export function wantsSnapshot({ state, position, snapshot }: StoredHead, after: number): boolean {
  const since = position - snapshot;
  if (isTerminal(state)) return since >= after / 2;
  return since >= (isInterrupted(state) ? Math.max(after, snapshot) / 2 : Math.max(after, snapshot));
}
