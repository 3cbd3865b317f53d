import type { MessageInitShape } from "@bufbuild/protobuf";
import type { TaskEvent, TaskEventSchema } from "../../gen/nuncio/journal/v1/journal_pb.js";
import type { Principal } from "../a2a/call.js";
import type { Task, TaskState } from "../a2a/types.js";

/** Whose tasks: everything stored belongs to one (tenant, owner), and a reader sees one (§13.1). */
export interface Scope {
  readonly tenant: string;
  readonly owner: string;
}

/** For the executor and the operator, who work across owners. Never for a caller. */
export const everyOwner = "every owner";
/** On whose behalf the journal is read. */
export type Reader = Scope | typeof everyOwner;

/** Where a task stands: the small row that each append updates. */
export interface Head extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  /** Id of the principal who began it. */
  readonly principal: string;
  readonly agent: string;
  readonly skill: string | undefined;
  readonly state: TaskState;
  /** Of the newest status, in milliseconds since the epoch: the sort key of ListTasks. */
  readonly statusAt: number;
  readonly createdAt: number;
  /** Of the newest entry: 1, 2, 3 … */
  readonly position: number;
  /** Of the newest MessageReceived. */
  readonly lastMessage: number;
  /** Grows with each lease, and with each fence. */
  readonly epoch: number;
  /** The instance that holds the lease. */
  readonly holder: string | undefined;
  /** There is work to do from then on; none while the task is parked or finished. */
  readonly dueAt: number | undefined;
  readonly turn: number;
  readonly attempt: number;
}

/** An entry as it is stored. */
export interface StoredEvent {
  readonly taskId: string;
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly event: TaskEvent;
}

/** What is written of an entry; the journal adds its position, time and epoch. */
export type NewEvent = MessageInitShape<typeof TaskEventSchema>;

/** The right of one instance to append for a task (epoch = its number). */
export interface Lease {
  readonly taskId: string;
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
  /** As the append that took it left it. */
  readonly head: Head;
  /** The entries of that append, TurnStarted last: of a new task, its whole log. */
  readonly appended: readonly StoredEvent[];
}

/**
 * One append: events, and the guards under which they count. A task that has ended takes none. What the guards refuse changes no row.
 * They are judged in this order: the key, `create`, whether the task exists for the reader, whether it has ended, the others.
 *
 * The journal encodes the events when `append` is called, sets their epoch (that of the guard, else 0), and derives the head's state
 * from them: StatusUpdated names it, TurnStarted means WORKING, a task that was only created is SUBMITTED. A terminal status ends the
 * task: it must come last, and it clears `due` and gives the lease up. What no head could make right (an event without a kind, a task
 * that doesn't begin with MessageReceived, a TurnStarted that `take` didn't make) rejects with a TypeError.
 */
export interface AppendRequest {
  readonly taskId: string;
  readonly events: readonly NewEvent[];
  /** Nobody else holds a part of these events, nor ever will, and all in them can be encoded: readers get them as they are. */
  readonly given?: boolean;

  // guards
  /** The task must not exist, and begins with these events. */
  readonly create?: {
    readonly scope: Scope;
    readonly principal: Principal;
    readonly agent: string;
    readonly skill: string | undefined;
    readonly contextId: string;
  };
  /** The task must be the reader's; else `not-found`. Default: every owner (an executor). */
  readonly reader?: Reader;
  /** An executor's: `epoch` must be the head's and this instance its holder; else `fenced`. */
  readonly epoch?: number;
  /** Somebody must hold the lease of this epoch; else `conflict`. */
  readonly lease?: number;
  /** Nobody may hold the lease; else `held`. */
  readonly idle?: boolean;
  /** The position must be exactly this; else `conflict`. */
  readonly expect?: number;
  /** No message may have come after this position; else `conflict`. */
  readonly seen?: number;
  /** De-duplication: if this key was used within its window, `duplicate`, whatever the other guards say. See `messageKey`. */
  readonly key?: Uint8Array;

  // effects beside the events
  /**
   * Takes the lease for this instance if nobody holds it (else `held`): appends TurnStarted last, with the next turn and epoch. With
   * `release`, the holder itself goes on to its next turn. With `fence`, the turn that another holder was in goes on here: the same
   * turn, attempt + 1.
   */
  readonly take?: { readonly agentVersion: string };
  /** Gives the lease up. */
  readonly release?: boolean;
  /** When there is work to do; `null`: none. Default: as it was; with `take`, none. */
  readonly due?: number | null;
  /** Takes the lease from whoever holds it: epoch + 1, no holder. */
  readonly fence?: boolean;
}

/** The key was used: by the message at `position` of `taskId`, or by one that was answered directly with `reply`. */
export interface Duplicate {
  readonly kind: "duplicate";
  readonly taskId: string | undefined;
  readonly position: number;
  readonly reply: Uint8Array | undefined;
}

/** What an append came to: stored, or why not. */
export type AppendResult =
  /** `first`…`position` are the new entries; `lease` if one was taken. */
  | {
      readonly kind: "ok";
      readonly position: number;
      readonly first: number;
      readonly epoch: number;
      readonly holder: string | undefined;
      readonly lease: Lease | undefined;
    }
  | Duplicate
  /** The task has ended, in this state. */
  | { readonly kind: "terminal"; readonly state: TaskState }
  | { readonly kind: "fenced" | "held" | "conflict" | "exists" | "not-found" };

/** What ListTasks asks (§3.1.4). */
export interface ListQuery {
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Inclusive, in milliseconds since the epoch. */
  readonly statusAfter?: number | undefined;
  readonly limit: number;
  /** The last row of the page before. */
  readonly after?: { readonly statusAt: number; readonly taskId: string } | undefined;
  /** Also count what matches, before paging. */
  readonly count?: boolean;
}

/** What ListTasks gets. */
export interface ListPage {
  /** Newest status first, then id, both descending. */
  readonly heads: readonly Head[];
  /** There is a next page. */
  readonly more: boolean;
  /** Exact; 0 when not asked for. */
  readonly total: number;
}

/** A task at a position. Never mutate it: readers share it. */
export interface LoadedTask {
  readonly task: Task;
  /** Of the newest entry that is folded in. */
  readonly position: number;
}

/** Is told of the entries of a log, each once, in order, never from within the call that it was handed over in. */
export interface Listener {
  entry(stored: StoredEvent): void;
  /** The signal has aborted, or the journal was closed; with an error, the log could not be read. */
  ended(error: unknown): void;
}

/**
 * The append-only log per task, and the only place where the request side and the agent side meet. Every read takes a reader; what
 * isn't theirs looks as if it didn't exist.
 */
export interface Journal {
  /** A fresh id for each time that a process opens the journal. */
  readonly instance: string;
  append(request: AppendRequest): Promise<AppendResult>;
  head(taskId: string, reader: Reader): Promise<Head | undefined>;
  /** The task, folded; as of `position` if one is given. A later position than the newest means the newest, 0 finds nothing. */
  load(taskId: string, reader: Reader, position?: number): Promise<LoadedTask | undefined>;
  /** Entries after a position, in order; at most `limit` (default 256). For whoever has loaded the task as its reader. */
  read(taskId: string, after: number, limit?: number): Promise<readonly StoredEvent[]>;
  /**
   * Entries after a position as they are committed, in order, each once; ends only when `signal` aborts (without an error) or the
   * consumer breaks, or the journal is closed. A terminal entry doesn't end it. For whoever has loaded the task as its reader.
   */
  follow(taskId: string, after: number, signal?: AbortSignal): AsyncIterable<StoredEvent>;
  /**
   * The same, told instead of asked for: nothing waits between two entries. Gives what ends it, without a word; else `ended` is called.
   */
  watch(taskId: string, after: number, listener: Listener, signal?: AbortSignal): () => void;
  list(reader: Scope, query: ListQuery): Promise<ListPage>;
  /** What a key was used for, within its window of 24 hours. */
  recall(key: Uint8Array): Promise<Duplicate | undefined>;
  /** Keeps a direct reply under its message's key. If the key was used: what for, and nothing is kept. */
  remember(key: Uint8Array, reply: Uint8Array): Promise<Duplicate | undefined>;
  readonly leases: Leases;
  /** Whether the database answers. */
  ready(): Promise<boolean>;
  /** Commits what waits, ends all followers, and closes the database. Leases that it still has are orphans from then on. */
  close(): Promise<void>;
}

/** Who works on what. Costs O(instances): an instance has one heartbeat row, a task names its holder and an epoch. */
export interface Leases {
  /** Whether this instance has room for another run: whoever accepts a message takes its lease then. Set by the worker; false before. */
  hasRoom: () => boolean;
  /** How many appends are under way that may take a lease here: `onTaken` has not been told of them yet. `claim` doesn't count. */
  taking: number;
  /** `append` took a lease here, and it is committed (`claim` returns its own instead). One listener: the worker. */
  onTaken: (lease: Lease) => void;
  /** Something may be due. One listener: the worker. A hint; the poll is the floor. */
  onDue: () => void;
  /**
   * Tasks that are due and that nobody holds, taken for this instance, TurnStarted appended. `agentVersion` by the head's agent;
   * `agents`: whose tasks, by default everybody's.
   */
  claim(limit: number, agentVersion: (agent: string) => string, agents?: readonly string[]): Promise<readonly Lease[]>;
  /**
   * Tasks whose holder is dead: with an expired heartbeat, or on this machine with a process that is gone. To take one over, append
   * with `expect` its position, `fence`, and `take` or `due`.
   */
  orphans(limit: number): Promise<readonly Head[]>;
}
