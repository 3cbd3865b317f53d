import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema } from "../../gen/nuncio/journal/v1/journal_pb.js";
import type { TaskState } from "../a2a/types.js";
import type { NewEvent, StoredEvent } from "./journal.js";

/** An entry that waits for its position. Encoded when it is handed over, so that later changes to the given object change nothing. */
export interface EncodedEvent {
  readonly case: NonNullable<TaskEvent["kind"]["case"]>;
  readonly body: Uint8Array;
  /** The state that it puts its task in. */
  readonly state: TaskState | undefined;
  /** The event itself, where nobody else can hold a part of it: its readers needn't decode it. */
  readonly own: TaskEvent | undefined;
}

/** Stores the kind beside the body, by its field number, so that rows can be found without decoding them. */
export function kindNumber(kind: EncodedEvent["case"]): number {
  return TaskEventSchema.field[kind].number;
}

/** Entries that come again with task after task, encoded: a turn's start, a status without a word. */
const recurring = new Map<string, EncodedEvent>();
const MAX_RECURRING = 256;

/**
 * Encodes an entry that the executor of `epoch` wrote; 0 for anybody else.
 * @param isGiven nobody else holds a part of it, nor ever will.
 */
export function encodeEvent(init: NewEvent, epoch: number, isGiven: boolean): EncodedEvent {
  const name = nameOfRecurring(init, epoch);
  if (name === undefined) return encode(init, epoch, isGiven);
  const known = recurring.get(name);
  if (known !== undefined) return known;
  const encoded = encode(init, epoch, true);
  if (recurring.size >= MAX_RECURRING) recurring.clear();
  recurring.set(name, encoded);
  return encoded;
}

function encode(init: NewEvent, epoch: number, isOwn: boolean): EncodedEvent {
  const event = create(TaskEventSchema, { kind: init.kind ?? { case: undefined }, epoch });
  const { kind } = event;
  if (kind.case === undefined) throw new TypeError("A task event has a kind: set one");
  return {
    case: kind.case,
    // Into Node's pool: most are small, and each array of its own costs the collector more than the copy.
    body: Buffer.from(toBinary(TaskEventSchema, event)),
    state: kind.case === "statusUpdated" ? kind.value.state : undefined,
    own: isOwn ? event : undefined,
  };
}

/** What tells such an entry from all others; `undefined` for one that says something of its own. */
function nameOfRecurring({ kind }: NewEvent, epoch: number): string | undefined {
  if (kind?.case === "turnStarted") {
    const { turn, attempt, instance, agentVersion } = kind.value;
    return `${epoch} ${turn} ${attempt} ${instance} ${agentVersion}`;
  }
  if (kind?.case !== "statusUpdated" || kind.value.message !== undefined || kind.value.metadata !== undefined)
    return undefined;
  return `${epoch} ${kind.value.state}`;
}

/** A stored entry that is decoded when somebody first looks, once for all of its readers. */
export class Entry implements StoredEvent {
  readonly taskId: string;
  readonly position: number;
  readonly at: number;
  /** Bytes of the encoded form. */
  readonly size: number;
  #body: Uint8Array | undefined;
  #event: TaskEvent | undefined;

  constructor(taskId: string, position: number, at: number, body: Uint8Array, own?: TaskEvent) {
    this.taskId = taskId;
    this.position = position;
    this.at = at;
    this.size = body.byteLength;
    this.#body = own === undefined ? body : undefined;
    this.#event = own;
  }

  get event(): TaskEvent {
    if (this.#event === undefined) {
      this.#event = fromBinary(TaskEventSchema, this.#body ?? new Uint8Array());
      this.#body = undefined;
    }
    return this.#event;
  }
}
