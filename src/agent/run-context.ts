import { create } from "@bufbuild/protobuf";
import type { Principal } from "../a2a/call.js";
import { type ArtifactFacts, type Content, type MessageView, partsOf } from "../a2a/content.js";
import { copyMessage } from "../a2a/copy-message.js";
import { type Artifact, ArtifactSchema, type Part, type Task } from "../a2a/types.js";
import type { Journal } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import { nextLoop } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";
import { untilAborted } from "../runtime/until-aborted.js";
import type { Stop } from "./stop.js";
import type { InputView, StreamContext, TaskContext, Update, Updates } from "./task-context.js";
import type { Turn } from "./turn.js";

const MAX_EARLIER = 50;

/** What a context is made of. */
export interface RunFacts {
  readonly journal: Journal;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly turn: Turn;
  /** The input's data, as the skill's schema made it. */
  readonly data: unknown;
  readonly updates: Updates;
  readonly stop: Pick<Stop, "signal">;
}

/** The object that `run` gets. Its words may be taken out of it. */
export class RunContext implements TaskContext {
  readonly working: Updates["working"];
  readonly artifact: Updates["artifact"];
  readonly completed: Updates["completed"];
  readonly failed: Updates["failed"];
  readonly rejected: Updates["rejected"];
  readonly inputRequired: Updates["inputRequired"];
  readonly keepOpen: Updates["keepOpen"];
  readonly id: string;
  readonly contextId: string;
  readonly skill: string | undefined;
  readonly input: InputView;
  readonly history: readonly MessageView[];
  readonly artifacts: readonly Artifact[];
  readonly principal: Principal;
  readonly extensions: ReadonlySet<string>;
  readonly log: Logger;
  readonly #facts: RunFacts;

  constructor(facts: RunFacts) {
    const { updates, turn } = facts;
    const { head } = turn;
    this.working = updates.working;
    this.artifact = updates.artifact;
    this.completed = updates.completed;
    this.failed = updates.failed;
    this.rejected = updates.rejected;
    this.inputRequired = updates.inputRequired;
    this.keepOpen = updates.keepOpen;
    this.id = head.taskId;
    this.contextId = head.contextId;
    this.skill = head.skill;
    this.input = inputView(turn.input, facts.data, turn);
    this.history = turn.history;
    this.artifacts = turn.artifacts;
    this.principal = turn.principal;
    this.extensions = new Set(turn.extensions);
    this.log = facts.logger;
    this.#facts = facts;
  }

  get signal(): AbortSignal {
    return this.#facts.stop.signal;
  }

  readonly stream: TaskContext["stream"] = (chunks, facts = {}) => {
    const { updates, runtime } = this.#facts;
    return streamed({ updates, runtime, signal: this.signal }, chunks, facts);
  };

  readonly references: TaskContext["references"] = () => {
    const { journal, turn } = this.#facts;
    return tasksOf(journal, turn.head, turn.input.message.referenceTaskIds);
  };

  readonly earlier: TaskContext["earlier"] = async () => {
    const { journal, turn } = this.#facts;
    const { contextId, createdAt, taskId: own } = turn.head;
    const page = await journal.list(turn.head, { contextId, limit: MAX_EARLIER + 1 });
    const earlier = page.heads.filter((head) => head.taskId !== own && head.createdAt <= createdAt);
    const ids = earlier.slice(0, MAX_EARLIER).map(({ taskId }) => taskId);
    return tasksOf(journal, turn.head, ids);
  };
}

/** Copies of the tasks of these ids, as they are now, as far as they are the owner's. */
async function tasksOf(
  journal: Journal,
  { tenant, owner }: { tenant: string; owner: string },
  ids: readonly string[],
): Promise<readonly Task[]> {
  const loaded = await Promise.all(ids.map((id) => journal.load(id, { tenant, owner })));
  return loaded.flatMap((one) => (one === undefined ? [] : [copyMessage(one.task)]));
}

function inputView(view: MessageView, data: unknown, { metadata }: Turn): InputView {
  const { message, role, from, parts, text, files } = view;
  return { message, role, from, parts, text, files, data, metadata };
}

type Chunks = AsyncIterable<Content> | Iterable<Content>;

/**
 * One artifact in chunks. A chunk goes out as soon as it is there; the last one is marked when its end is known in the same turn of
 * the event loop.
 */
async function* streamed(
  { updates, runtime, signal }: { updates: Updates; runtime: Runtime; signal: AbortSignal },
  source: Chunks | ((step: StreamContext) => Chunks | Promise<Chunks>),
  facts: ArtifactFacts,
): AsyncGenerator<Update, Artifact, void> {
  const chunks = typeof source === "function" ? await source({ signal }) : source;
  const iterator = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  const { artifactId, name = "", description = "" } = facts;
  const parts: Part[] = [];
  let began = false;
  try {
    let current = await untilAborted(iterator.next(), signal);
    while (!current.done) {
      const next = Promise.resolve(iterator.next());
      const soon = await Promise.race([next, nextLoop(runtime)]);
      parts.push(...partsOf(current.value));
      const said = began
        ? { append: true, ...(artifactId === undefined ? {} : { artifactId }) }
        : { ...facts, append: facts.append ?? false };
      yield updates.artifact(current.value, soon?.done ? { ...said, lastChunk: true } : said);
      began = true;
      current = soon ?? (await untilAborted(next, signal));
    }
  } finally {
    const returned = Promise.resolve(iterator.return?.());
    returned.catch(() => {}); // it may come too late
    if (!signal.aborted) await untilAborted(returned, signal); // of a source that hangs, `return` hangs as well
  }
  if (!began) throw new TypeError("The stream gave no chunk: an artifact has at least one part (§4.1.7)");
  return create(ArtifactSchema, { artifactId: artifactId ?? "", name, description, parts });
}
