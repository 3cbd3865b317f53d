import { type ArtifactFacts, type Content, factsOf, type MessageFacts, partsOf } from "../a2a/content.js";
import { type Part, TaskState } from "../a2a/types.js";
import type { Ending, Update, Updates } from "./task-context.js";

/** What an update or an ending says, before it has ids. */
export type Said =
  | {
      readonly kind: "status";
      readonly state: TaskState;
      readonly parts: readonly Part[];
      readonly facts: MessageFacts;
    }
  | { readonly kind: "artifact"; readonly parts: readonly Part[]; readonly facts: ArtifactFacts }
  | { readonly kind: "keep-open"; readonly parts: readonly Part[]; readonly facts: MessageFacts };

const SAID = Symbol.for("nuncio.said");

interface Saying {
  readonly [SAID]: Said;
}

/** What a yielded or returned value says; `undefined` if it isn't one of ours. */
export function saidBy(value: unknown): Said | undefined {
  return typeof value === "object" && value !== null && SAID in value ? (value as Saying)[SAID] : undefined;
}

class UpdateValue implements Update, Saying {
  readonly "yield it": true;
  readonly [SAID]: Said;
  constructor(said: Said) {
    this["yield it"] = true;
    this[SAID] = said;
  }
}

class EndingError extends Error implements Saying {
  readonly "return it" = true;
  readonly [SAID]: Said;
  constructor(said: Said) {
    super("How a turn ends: return it from run, or throw it");
    this.name = "Ending";
    this[SAID] = said;
  }
}

/** The words, each giving `onMade` what it made, so that what is made and never said can be found. */
export function createUpdates(onMade: (made: Update | Ending) => void): Updates {
  const update = (said: Said): Update => {
    const made = new UpdateValue(said);
    onMade(made);
    return made;
  };
  const ending = (said: Said): Ending => {
    const made = new EndingError(said);
    onMade(made);
    return made;
  };
  const status = (state: TaskState, content: Content | undefined, facts: MessageFacts): Said => ({
    kind: "status",
    state,
    parts: content === undefined ? [] : spoken(content),
    facts: factsOf(facts),
  });
  return {
    working: (content, facts = {}) => update(status(TaskState.WORKING, content, facts)),
    artifact: (content, facts = {}) => update({ kind: "artifact", parts: spoken(content), facts: factsOf(facts) }),
    completed: (content, facts = {}) => ending(status(TaskState.COMPLETED, content, facts)),
    failed: (content, facts = {}) => ending(status(TaskState.FAILED, content, facts)),
    rejected: (content, facts = {}) => ending(status(TaskState.REJECTED, content, facts)),
    inputRequired: (question, facts = {}) => ending(status(TaskState.INPUT_REQUIRED, question, facts)),
    keepOpen: (content, facts = {}) =>
      ending({ kind: "keep-open", parts: content === undefined ? [] : spoken(content), facts: factsOf(facts) }),
  };
}

/** For a log: what kind of thing was said, and how it begins. */
export function describe(said: Said): string {
  const text = said.parts
    .map(({ content }) => (content.case === "text" ? content.value : `(${content.case})`))
    .join(" ");
  const kind = said.kind === "status" ? (TaskState[said.state] ?? String(said.state)) : said.kind;
  return `${kind} ${JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)}`;
}

function spoken(content: Content): readonly Part[] {
  const parts = partsOf(content);
  if (parts.length === 0)
    throw new TypeError("There is nothing in this content: a message or an artifact has at least one part (§4.1.4)");
  return parts;
}
