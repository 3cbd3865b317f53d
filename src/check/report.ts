import { type RuleId, rules, type Severity } from "./rules.js";

/** As many different faults of one kind are told. */
const MAX_SEEN = 10;
const MAX_LENGTH = 400;

/** What one rule came to at one place. */
export interface Finding {
  readonly rule: RuleId;
  /** `card`, or the binding: `jsonrpc`. */
  readonly where: string;
  readonly severity: Severity;
  /** Of the specification. */
  readonly section: string;
  readonly expected: string;
  readonly verdict: "passed" | "failed" | "not-checked";
  /** What came instead, the first ten. Empty unless it failed. */
  readonly seen: readonly string[];
  /** Why it wasn't checked. */
  readonly because?: string;
}

/** Whether a finding counts against the agent: what a MUST wants; if one is strict, what a SHOULD does as well. A MAY never does. */
export function isFault({ verdict, severity }: Finding, isStrict: boolean): boolean {
  return verdict === "failed" && (severity === "MUST" || (isStrict && severity === "SHOULD"));
}

/** Where a check puts what it found at one place. */
export interface Verdicts {
  pass(rule: RuleId): void;
  fail(rule: RuleId, seen: string): void;
  skip(rule: RuleId, because: string): void;
  /** Passes or fails. */
  expect(rule: RuleId, isMet: boolean, seen: () => string): void;
}

/** All findings of a check. A rule fails where it failed once; it is not checked only where it neither passed nor failed. */
export interface Findings {
  at(where: string): Verdicts;
  /** By place, in the order in which they came. */
  list(): Finding[];
}

interface Tally {
  passed: boolean;
  readonly seen: Set<string>;
  because: string | undefined;
}

export function createFindings(): Findings {
  const places = new Map<string, Map<RuleId, Tally>>();
  return {
    at(where) {
      const tallies = places.get(where) ?? new Map<RuleId, Tally>();
      places.set(where, tallies);
      return verdictsOf(tallies);
    },
    list: () =>
      [...places].flatMap(([where, tallies]) => [...tallies].map(([rule, tally]) => findingOf(where, rule, tally))),
  };
}

function verdictsOf(tallies: Map<RuleId, Tally>): Verdicts {
  const tallyOf = (rule: RuleId): Tally => {
    const tally = tallies.get(rule) ?? { passed: false, seen: new Set<string>(), because: undefined };
    tallies.set(rule, tally);
    return tally;
  };
  const verdicts: Verdicts = {
    pass(rule) {
      tallyOf(rule).passed = true;
    },
    fail(rule, seen) {
      const tally = tallyOf(rule);
      if (tally.seen.size < MAX_SEEN) tally.seen.add(seen.length > MAX_LENGTH ? `${seen.slice(0, MAX_LENGTH)}…` : seen);
    },
    skip(rule, because) {
      tallyOf(rule).because ??= because;
    },
    expect: (rule, isMet, seen) => (isMet ? verdicts.pass(rule) : verdicts.fail(rule, seen())),
  };
  return verdicts;
}

function findingOf(where: string, rule: RuleId, { passed, seen, because }: Tally): Finding {
  const verdict = seen.size > 0 ? "failed" : passed ? "passed" : "not-checked";
  return {
    rule,
    where,
    ...rules[rule],
    verdict,
    seen: [...seen],
    ...(verdict === "not-checked" && because !== undefined && { because }),
  };
}
