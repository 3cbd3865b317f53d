import type { JsonValue } from "@bufbuild/protobuf";
import type { Violation } from "./errors.js";
import { isWellFormed } from "./unknown-json.js";

/**
 * Deepest nesting of a payload, in levels of JSON. Protobuf parsers stop at 100 nested messages, and each level of a Struct costs two of
 * them: what is deeper could be read as JSON, and then never again from binary, neither by a peer nor from the journal.
 */
const MAX_DEPTH = 40;
/** What was accepted comes back with more around it: a message within a history within a task within a list. */
const MAX_ANSWER_DEPTH = MAX_DEPTH + 8;
/** More violations than these aren't recorded: a hostile payload mustn't grow into a larger answer. */
export const MAX_VIOLATIONS = 100;
/** Longer names are cut in a path. */
const MAX_NAME_LENGTH = 64;

/** Stands for a value that couldn't be read. The message that it is in is thrown away, for a violation was recorded. */
export const BROKEN = Symbol("broken");

/** How strictly it is judged. */
export interface JudgementOptions {
  /** Forgive what another implementation gets wrong (§5.7). */
  readonly forgiving: boolean;
  readonly rejectUnknown: boolean;
  /** Allow only what a writer may write, not all that a reader takes. */
  readonly exact: boolean;
}

/** One pass over a payload: where it is, and what it found wrong. */
export class Judgement {
  readonly violations: Violation[] = [];
  readonly forgiving: boolean;
  readonly rejectUnknown: boolean;
  readonly exact: boolean;
  readonly #path: (string | number)[] = [];

  constructor(options: JudgementOptions) {
    this.forgiving = options.forgiving;
    this.rejectUnknown = options.rejectUnknown;
    this.exact = options.exact;
  }

  /** Goes into a field, a key or an element. Each needs its `leave`. */
  enter(step: string | number): void {
    this.#path.push(step);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Records a violation of where it is. */
  fail(rule: string, description: string, section = "§5.6"): typeof BROKEN {
    if (this.violations.length < MAX_VIOLATIONS) {
      this.violations.push({ path: this.#path.reduce(append, ""), rule, description, section });
    }
    return BROKEN;
  }

  /** Records a violation, once for the branch, where the nesting is deeper than anyone can keep. */
  isTooDeep(): boolean {
    const limit = this.forgiving || this.exact ? MAX_ANSWER_DEPTH : MAX_DEPTH;
    if (this.#path.length <= limit) return false;
    this.fail("DEPTH", `is nested more than ${limit} levels deep: flatten it`, "§13.4");
    return true;
  }
}

function append(path: string, step: string | number): string {
  if (typeof step === "number") return `${path}[${step}]`;
  const name = step.length > MAX_NAME_LENGTH ? `${step.slice(0, MAX_NAME_LENGTH)}…` : step;
  if (!/^[A-Za-z_$][\w$]*…?$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** How one type of value is read, written and judged. */
export interface Kind<T = unknown> {
  /** From ProtoJSON. `BROKEN` where a violation was recorded. */
  read(json: unknown, judgement: Judgement): T | typeof BROKEN;
  /** As ProtoJSON. */
  write(value: T): JsonValue;
  /** Judges a value that is already decoded, as `read` would have judged its JSON. */
  check(value: T, judgement: Judgement): void;
  /** Whether proto3 can't tell the value from an unset one. */
  isZero(value: T): boolean;
  /** `null` is a value, not "unset". */
  readonly readsNull?: true;
}

/** Judges a string or a key. */
export function judgeText(text: string, judgement: Judgement): string | typeof BROKEN {
  if (isWellFormed(text)) return text;
  return judgement.fail("UTF8", "holds half of a surrogate pair: send whole characters");
}

/** Does something inside a field, a key or an element. */
export function within<T>(step: string | number, judgement: Judgement, act: () => T): T {
  judgement.enter(step);
  const result = act();
  judgement.leave();
  return result;
}
