/** The states of a task that the walk can bring about. */
export type State = "WORKING" | "COMPLETED" | "FAILED" | "CANCELED" | "REJECTED" | "INPUT_REQUIRED";

/** A task as a caller sees it, in words. */
export interface Seen {
  readonly id: string;
  readonly contextId: string;
  readonly state: State;
  /** The text of its status. */
  readonly said: string | undefined;
  /** `U: …` or `A: …`, oldest first. */
  readonly history: readonly string[];
  /** The text of each artifact. */
  readonly artifacts: readonly string[];
}

/** What is said of a task that was canceled while its agent didn't listen. */
const UNCONFIRMED = "Canceled; the agent didn't confirm";
/** How the said of a task begins whose agent threw. */
export const THREW = "The agent failed";

/** A task as the specification has it (§3.1, §3.2, §3.7, §4.1.3), in front of an agent that does what it is told. */
export class ModelTask {
  readonly id: string;
  readonly contextId: string;
  state: State = "WORKING";
  said: string | undefined;
  readonly history: string[] = [];
  readonly artifacts: string[] = [];
  /** What its run waits for: a gate, or to be canceled. `undefined` when nobody works on it. */
  waitsFor: { readonly gate: string } | "cancel" | undefined;
  /** Messages that came while a run was busy, for turns of their own. */
  readonly unread: string[] = [];

  constructor(id: string, contextId: string) {
    this.id = id;
    this.contextId = contextId;
  }

  get hasEnded(): boolean {
    return ["COMPLETED", "FAILED", "CANCELED", "REJECTED"].includes(this.state);
  }

  /** Whether a blocking send has its answer. */
  get hasSettled(): boolean {
    return this.hasEnded || this.state === "INPUT_REQUIRED";
  }

  /** As `historyLength` and the default show it. */
  seen(historyLength = 100, artifacts = true): Seen {
    const { id, contextId, state, said } = this;
    const newest = historyLength === 0 ? [] : this.history.slice(-Math.min(historyLength, 100));
    return { id, contextId, state, said, history: newest, artifacts: artifacts ? [...this.artifacts] : [] };
  }

  /** Takes a message; one for a task that nobody works on begins a turn. Gives the task as it stands right after that. */
  receive(text: string, historyLength?: number): Seen {
    if (this.said !== undefined) this.history.push(`A: ${this.said}`);
    this.said = undefined;
    this.history.push(`U: ${text}`);
    if (this.waitsFor !== undefined) {
      this.unread.push(text);
      return this.seen(historyLength);
    }
    this.#become("WORKING");
    const accepted = this.seen(historyLength);
    this.#run(text);
    return accepted;
  }

  /** The gate opens that its run waits for. */
  goOn(): void {
    if (this.waitsFor === undefined || this.waitsFor === "cancel") return;
    this.artifacts.push(`waited for ${this.waitsFor.gate}`);
    this.waitsFor = undefined;
    this.#end("COMPLETED");
  }

  /** A cancel of a task that hasn't ended (§3.1.5). */
  cancel(): void {
    const isDeaf = this.waitsFor !== undefined && this.waitsFor !== "cancel";
    this.waitsFor = undefined;
    this.unread.length = 0;
    this.#become("CANCELED", isDeaf ? UNCONFIRMED : undefined);
  }

  #run(text: string): void {
    const { says = [], gives, ends } = scriptOf(text);
    for (const said of says) this.#become("WORKING", said);
    if (gives !== undefined) this.artifacts.push(gives);
    if (ends === "open") this.#next();
    else if ("waitsFor" in ends) this.waitsFor = ends.waitsFor;
    else this.#end(ends.state, ends.said);
  }

  /** A turn ends. COMPLETED and questions count only when every message was read; FAILED and REJECTED are final. */
  #end(state: State, said?: string): void {
    if (state === "FAILED" || state === "REJECTED") this.unread.length = 0;
    if (this.unread.length === 0) {
      this.#become(state, said);
      return;
    }
    if (said !== undefined) this.#become("WORKING", said);
    this.#next();
  }

  #next(): void {
    const text = this.unread.shift();
    if (text === undefined) return;
    this.#become("WORKING");
    this.#run(text);
  }

  #become(state: State, said?: string): void {
    if (this.said !== undefined) this.history.push(`A: ${this.said}`);
    this.state = state;
    this.said = said;
  }
}

/** What the scripted agent does for a message. */
interface Script {
  /** Statuses on the way. */
  readonly says?: readonly string[];
  readonly gives?: string;
  /** How the turn ends, or what it waits for; `"open"`: it ends, and the task stays as it is. */
  readonly ends:
    | { readonly state: State; readonly said?: string }
    | { readonly waitsFor: ModelTask["waitsFor"] }
    | "open";
}

function scriptOf(text: string): Script {
  const [command, ...words] = text.split(" ");
  const rest = words.join(" ");
  switch (command) {
    case "ask":
      return { ends: { state: "INPUT_REQUIRED", said: rest } };
    case "work":
      return { says: [rest], ends: { state: "COMPLETED" } };
    case "status":
      return { says: words, ends: { state: "COMPLETED" } };
    case "complete":
      return { ends: { state: "COMPLETED", said: rest } };
    case "fail":
      return { ends: { state: "FAILED", said: rest } };
    case "reject":
      return { ends: { state: "REJECTED", said: rest } };
    case "throw":
      return { ends: { state: "FAILED", said: THREW } };
    case "chunks":
      return { gives: rest.replaceAll("|", ""), ends: { state: "COMPLETED" } };
    case "keep-open":
      return { ends: "open" };
    case "wait":
      return { says: ["waiting"], ends: { waitsFor: { gate: rest } } };
    case "until-canceled":
      return { says: ["waiting"], ends: { waitsFor: "cancel" } };
    default:
      return { gives: `Hello ${text}`, ends: { state: "COMPLETED" } };
  }
}
