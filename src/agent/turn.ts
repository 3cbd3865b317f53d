import type { JsonObject } from "@bufbuild/protobuf";
import type { MessageReceived, Principal as StoredPrincipal } from "../../gen/nuncio/journal/v1/journal_pb.js";
import type { Principal } from "../a2a/call.js";
import { type MessageView, messageView } from "../a2a/content.js";
import { copyMessage } from "../a2a/copy-message.js";
import type { Artifact, Message } from "../a2a/types.js";
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
  const { head, appended, turn } = lease;
  const heard = new Heard(turn, agentId);
  if (appended[0]?.position === 1) for (const entry of appended) heard.take(entry);
  else for await (const entry of readUpTo(journal, head.taskId, head.position)) heard.take(entry);
  const { history, received, inputPosition } = heard;
  const input = history.at(-1);
  if (received === undefined || input === undefined) throw new Error(`Turn ${turn} has no message to work on`);
  return {
    head,
    input,
    metadata: received.metadata ?? {},
    extensions: received.extensions,
    principal: input.from,
    history,
    artifacts: turn === 1 ? [] : await artifactsAt(journal, head),
    inputPosition,
  };
}

/** What was said in a task, up to the message of a turn. */
class Heard {
  readonly history: MessageView[] = [];
  /** The input, once it was read. */
  received: MessageReceived | undefined;
  inputPosition = 0;
  readonly #turn: number;
  readonly #agentId: string;
  #turns = 0;

  constructor(turn: number, agentId: string) {
    this.#turn = turn;
    this.#agentId = agentId;
  }

  take({ event: { kind }, position }: StoredEvent): void {
    if (this.received !== undefined) return;
    if (kind.case === "statusUpdated" && kind.value.message !== undefined)
      this.history.push(messageView(copyMessage(kind.value.message), { id: this.#agentId }));
    if (kind.case !== "messageReceived") return;
    this.history.push(messageView(copyMessage(messageOf(kind.value)), principalOf(kind.value.from)));
    this.#turns += 1;
    if (this.#turns < this.#turn) return;
    this.received = kind.value;
    this.inputPosition = position;
  }
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
  return artifacts.map(copyMessage);
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
