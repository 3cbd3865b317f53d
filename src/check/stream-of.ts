import type { Verdicts } from "./report.js";
import type { OpenStream, Outcome } from "./speaker.js";

/**
 * A stream out of what came over its wire. An error that is its first event is a refusal, as if there were no stream (§9.4.6).
 * @param unwrap takes the message out of an event.
 */
export async function streamOf<E extends { readonly json: unknown } | Uint8Array>(
  record: Verdicts,
  events: AsyncGenerator<E | Outcome>,
  unwrap: (event: E) => Outcome,
  release: () => void,
): Promise<OpenStream | Outcome> {
  const next = async (): Promise<Outcome | undefined> => {
    const step = await events.next();
    if (step.done === true) return undefined;
    return isOutcome(step.value) ? step.value : unwrap(step.value);
  };
  let first = await next();
  if (first === undefined) {
    record.fail("stream.error", "a stream that ended without an event");
    return { case: "broken", why: "a stream without an event" };
  }
  if (first.case !== "result") {
    release();
    return first;
  }
  return {
    case: "stream",
    async next() {
      const given = first;
      first = undefined;
      return given ?? next();
    },
    close: release,
  };
}

function isOutcome(event: object): event is Outcome {
  return "case" in event;
}
