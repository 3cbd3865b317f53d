import { clone, type JsonObject } from "@bufbuild/protobuf";
import type { MessageReceived, Principal as StoredPrincipal } from "../../gen/nuncio/journal/v1/journal_pb.js";
import type { Principal } from "../a2a/call.js";
import { type MessageView, messageView } from "../a2a/content.js";
import { type Artifact, ArtifactSchema, type Message, MessageSchema } from "../a2a/types.js";
import { everyOwner, type Head, type Journal, type Lease, type StoredEvent } from "../journal/journal.js";

/** What a turn begins with, read from the log. Its messages and artifacts are copies: the run may do with them what it likes. */
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
}

/** The turn of a lease: each message of a task is the input of one turn, in order. */
export async function loadTurn(journal: Journal, lease: Lease, agentId: string): Promise<Turn> {
  const history: MessageView[] = [];
  let received: MessageReceived | undefined;
  let inputPosition = 0;
  let turns = 0;
  for await (const { event, position: at } of entries(journal, lease)) {
    const { kind } = event;
    if (kind.case === "statusUpdated" && kind.value.message !== undefined && received === undefined)
      history.push(messageView(clone(MessageSchema, kind.value.message), { id: agentId }));
    if (kind.case !== "messageReceived" || received !== undefined) continue;
    history.push(messageView(clone(MessageSchema, messageOf(kind.value)), principalOf(kind.value.from)));
    turns += 1;
    if (turns < lease.turn) continue;
    received = kind.value;
    inputPosition = at;
  }
  const input = history.at(-1);
  if (received === undefined || input === undefined) throw new Error(`Turn ${lease.turn} has no message to work on`);
  return {
    head: lease.head,
    input,
    metadata: received.metadata ?? {},
    extensions: received.extensions,
    principal: principalOf(received.from),
    history,
    artifacts: lease.turn === 1 ? [] : await artifactsAt(journal, lease.head),
    inputPosition,
  };
}

/** The log up to where the lease was taken. */
function entries(journal: Journal, { head, appended }: Lease): AsyncIterable<StoredEvent> | readonly StoredEvent[] {
  return appended[0]?.position === 1 ? appended : readUpTo(journal, head.taskId, head.position);
}

/** A task's log from its beginning up to a position, which it has reached. */
export async function* readUpTo(
  journal: Journal,
  taskId: string,
  position: number,
): AsyncGenerator<StoredEvent, void, void> {
  for (let after = 0; after < position; ) {
    const page = await journal.read(taskId, after);
    yield* page.filter((entry) => entry.position <= position);
    after = page.at(-1)?.position ?? position;
  }
}

async function artifactsAt(journal: Journal, { taskId, position }: Head): Promise<readonly Artifact[]> {
  const artifacts = (await journal.load(taskId, everyOwner, position))?.task.artifacts ?? [];
  return artifacts.map((artifact) => clone(ArtifactSchema, artifact));
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
