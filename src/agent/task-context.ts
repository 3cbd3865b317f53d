import type { JsonObject } from "@bufbuild/protobuf";
import type { Principal } from "../a2a/call.js";
import type { ArtifactFacts, Content, MessageFacts, MessageView } from "../a2a/content.js";
import type { Artifact, Task } from "../a2a/types.js";
import type { Logger } from "../runtime/logger.js";

/** Something the task says: yield it. */
export interface Update {
  readonly "yield it": true;
}

/** How a turn ends: return it, or throw it from a helper. */
export interface Ending extends Error {
  readonly "return it": true;
}

/** The words for what a task says, named after the states of §4.1.3. Pure: they make a value, `yield` or `return` commits it. */
export interface Updates<Out = unknown> {
  /** WORKING, with what it is doing. */
  working(content?: Content, facts?: MessageFacts): Update;
  /** Creates or replaces an artifact, or appends to it. Results are artifacts; messages are talk about the task (§3.7). */
  artifact(content: Content<Out>, facts?: ArtifactFacts): Update;
  /** COMPLETED, with a closing remark. Returning nothing is COMPLETED without one. */
  completed(content?: Content, facts?: MessageFacts): Ending;
  /** FAILED, with a reason that the caller may read. (A thrown error is FAILED with a generic text; its cause goes to the log.) */
  failed(content: Content, facts?: MessageFacts): Ending;
  /** REJECTED: the agent won't do it. */
  rejected(content: Content, facts?: MessageFacts): Ending;
  /** INPUT_REQUIRED, and this run is over: the answer starts `run` again, with `task.history`. */
  inputRequired(question: Content, facts?: MessageFacts): Ending;
  /** Leaves the task WORKING when `run` ends: the next message starts `run` again. */
  keepOpen(content?: Content, facts?: MessageFacts): Ending;
}

/** The message that a run works on, with what came beside it. */
export interface InputView<In = unknown> extends MessageView<In> {
  /** Metadata of the request that carried the message; the message's own is in `message.metadata`. */
  readonly metadata: JsonObject;
}

type Chunks<Out> = AsyncIterable<Content<Out>> | Iterable<Content<Out>>;

/** What a stream's producer is told. */
export interface StreamContext {
  readonly signal: AbortSignal;
}

/** The task that `run` works on: **yield** what it says, **return** how it ends. */
export interface TaskContext<In = unknown, Out = unknown> extends Updates<Out> {
  readonly id: string;
  readonly contextId: string;
  /** The skill that was named, or chosen because there is only one. Never guessed from the text. */
  readonly skill: string | undefined;
  /** The message that started this run. */
  readonly input: InputView<In>;
  /** All messages up to and including `input`, both sides. */
  readonly history: readonly MessageView[];
  /** What earlier turns made. */
  readonly artifacts: readonly Artifact[];
  readonly principal: Principal;
  /** The extensions that the caller activated. */
  readonly extensions: ReadonlySet<string>;
  /** Aborts on cancel, lost lease, shutdown, inactivity. */
  readonly signal: AbortSignal;
  readonly log: Logger;

  /** One artifact in chunks, as they come; `yield*` gives it, whole. */
  stream(
    chunks: Chunks<Out> | ((step: StreamContext) => Chunks<Out> | Promise<Chunks<Out>>),
    facts?: ArtifactFacts,
  ): AsyncGenerator<Update, Artifact, void>;
  /** The tasks that the input refers to (`referenceTaskIds`, §3.4.3), as they are now. */
  references(): Promise<readonly Task[]>;
  /** The earlier tasks of this context and owner, newest first; at most 50. */
  earlier(): Promise<readonly Task[]>;
}
