import { clone, create } from "@bufbuild/protobuf";
import { type ArtifactFacts, type Content, type MessageView, partsOf } from "../a2a/content.js";
import { type Artifact, ArtifactSchema, type Part, type Task, TaskSchema } from "../a2a/types.js";
import type { Journal } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import { nextLoop } from "../runtime/pause.js";
import type { Runtime } from "../runtime/runtime.js";
import { untilAborted } from "../runtime/until-aborted.js";
import type { Stop } from "./stop.js";
import type { InputView, StreamContext, TaskContext, Update, Updates } from "./task-context.js";
import type { Turn } from "./turn.js";

const MAX_EARLIER = 50;

/** The object that `run` gets. */
export function createTaskContext(from: {
  journal: Journal;
  runtime: Runtime;
  logger: Logger;
  turn: Turn;
  /** The input's data, as the skill's schema made it. */
  data: unknown;
  updates: Updates;
  stop: Pick<Stop, "signal">;
}): TaskContext {
  const { journal, runtime, turn, updates, stop } = from;
  const { head, input } = turn;
  return {
    // Written out: this is made for each run, and a spread costs more than all the rest.
    working: updates.working,
    artifact: updates.artifact,
    completed: updates.completed,
    failed: updates.failed,
    rejected: updates.rejected,
    inputRequired: updates.inputRequired,
    keepOpen: updates.keepOpen,
    id: head.taskId,
    contextId: head.contextId,
    skill: head.skill,
    input: inputView(input, from.data, turn),
    history: turn.history,
    artifacts: turn.artifacts,
    principal: turn.principal,
    extensions: new Set(turn.extensions),
    get signal() {
      return stop.signal;
    },
    log: from.logger,
    stream: (chunks, facts = {}) => streamed({ updates, runtime, signal: stop.signal }, chunks, facts),
    references: () => tasksOf(journal, head, input.message.referenceTaskIds),
    async earlier() {
      const page = await journal.list(head, { contextId: head.contextId, limit: MAX_EARLIER + 1 });
      const earlier = page.heads.filter(
        ({ taskId, createdAt }) => taskId !== head.taskId && createdAt <= head.createdAt,
      );
      return tasksOf(
        journal,
        head,
        earlier.slice(0, MAX_EARLIER).map(({ taskId }) => taskId),
      );
    },
  };
}

/** Copies of the tasks of these ids, as they are now, as far as they are the owner's. */
async function tasksOf(
  journal: Journal,
  { tenant, owner }: { tenant: string; owner: string },
  ids: readonly string[],
): Promise<readonly Task[]> {
  const loaded = await Promise.all(ids.map((id) => journal.load(id, { tenant, owner })));
  return loaded.flatMap((one) => (one === undefined ? [] : [clone(TaskSchema, one.task)]));
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
    await iterator.return?.();
  }
  if (!began) throw new TypeError("The stream gave no chunk: an artifact has at least one part (§4.1.7)");
  return create(ArtifactSchema, { artifactId: artifactId ?? "", name, description, parts });
}
