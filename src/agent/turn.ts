import type { JsonObject } from "@bufbuild/protobuf";
import type { MessageReceived, Principal as StoredPrincipal } from "../../gen/nuncio/journal/v1/journal_pb.js";
import type { Principal } from "../a2a/call.js";
import { type MessageView, messageView } from "../a2a/content.js";
import type { Artifact, Message } from "../a2a/types.js";
import { everyOwner, type Head, type Journal, type Lease, type StoredEvent } from "../journal/journal.js";

/** What a turn begins with, read from the log. */
export interface Turn {
  readonly head: Head;
  readonly input: MessageView;
  /** Metadata of the request that carried the input. */
  readonly metadata: JsonObject;
  readonly extensions: readonly string[];
  readonly principal: Principal;
  readonly history: readonly MessageView[];
  readonly artifacts: readonly Artifact[];
  /** Of the input: messages after it are another turn's. */
  readonly inputPosition: number;
  /** Of the newest entry that was read. */
  readonly position: number;
}

/**
 * The turn of a lease: each message of a task is the input of one turn, in order. `undefined`: the task isn't there, or not as the
 * lease says; there is nothing to do.
 */
export async function loadTurn(journal: Journal, lease: Lease, agentId: string): Promise<Turn | undefined> {
  const head = await journal.head(lease.taskId, everyOwner);
  if (head === undefined || head.epoch !== lease.epoch) return undefined;
  const history: MessageView[] = [];
  let received: MessageReceived | undefined;
  let inputPosition = 0;
  let turns = 0;
  let position = 0;
  for await (const { event, position: at } of entries(journal, lease.taskId)) {
    position = at;
    const { kind } = event;
    if (kind.case === "statusUpdated" && kind.value.message !== undefined && received === undefined)
      history.push(messageView(kind.value.message, { id: agentId }));
    if (kind.case !== "messageReceived" || received !== undefined) continue;
    history.push(messageView(messageOf(kind.value), principalOf(kind.value.from)));
    turns += 1;
    if (turns < lease.turn) continue;
    received = kind.value;
    inputPosition = at;
  }
  const input = history.at(-1);
  if (received === undefined || input === undefined) return undefined;
  return {
    head,
    input,
    metadata: received.metadata ?? {},
    extensions: received.extensions,
    principal: principalOf(received.from),
    history,
    artifacts: lease.turn === 1 ? [] : ((await journal.load(lease.taskId, everyOwner, position))?.task.artifacts ?? []),
    inputPosition,
    position,
  };
}

async function* entries(journal: Journal, taskId: string): AsyncGenerator<StoredEvent, void, void> {
  for (let after = 0; ; ) {
    const page = await journal.read(taskId, after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield* page;
    after = last.position;
  }
}

function messageOf({ message }: MessageReceived): Message {
  if (message === undefined) throw new Error("The log holds a message that has none");
  return message;
}

function principalOf(stored: StoredPrincipal | undefined): Principal {
  if (stored === undefined) throw new Error("The log holds a message without its sender");
  const { id, tenant, scopes, claims } = stored;
  return {
    id,
    ...(tenant === "" ? {} : { tenant }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(claims === undefined ? {} : { claims }),
  };
}
