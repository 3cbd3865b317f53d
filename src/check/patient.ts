import type { Runtime } from "../runtime/runtime.js";
import type { OpenStream, Outcome, Speaker } from "./speaker.js";

/** After so many calls in a row without an answer nobody waits for another. */
const MAX_SILENCES = 3;
/** No interface may cost more than so many times the longest wait for one answer. */
const MAX_WAITS = 10;

/** A speaker that doesn't wait for ever. */
export interface Patient<S> {
  readonly speaker: S;
  /** Whether anything ever came back that was of the speaker's binding. */
  hasAnswered(): boolean;
}

type Act = (...args: readonly unknown[]) => Promise<Outcome | OpenStream>;

/** The same speaker, which gives up on a peer that doesn't answer or takes too long altogether, and never throws. */
export function patient<S extends Speaker>(speaker: S, runtime: Runtime, timeoutMs: number): Patient<S> {
  const until = runtime.now() + MAX_WAITS * timeoutMs;
  let silences = 0;
  let answered = false;
  const attempt =
    (act: Act): Act =>
    async (...args) => {
      if (silences >= MAX_SILENCES) return { case: "unsent", why: `${MAX_SILENCES} calls in a row had no answer` };
      if (runtime.now() > until)
        return { case: "unsent", why: `the calls before took ${(MAX_WAITS * timeoutMs) / 1_000} s` };
      try {
        const outcome = await act(...args);
        silences = outcome.case === "silent" ? silences + 1 : 0;
        answered ||= outcome.case !== "silent" && outcome.case !== "broken";
        return outcome;
      } catch (error) {
        return { case: "broken", why: error instanceof Error ? error.message : String(error) };
      }
    };
  const members = Object.entries(speaker).map(([name, member]) => [
    name,
    typeof member === "function" && name !== "close" ? attempt(member) : member,
  ]);
  return { speaker: Object.fromEntries(members) as S, hasAnswered: () => answered }; // each member is as it was, or wrapped
}
