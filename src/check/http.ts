import { A2AError } from "../a2a/errors.js";
import { DEFAULT_MAX_DEPTH, parseJson, parseJsonText } from "../bindings/json.js";
import { readBody } from "../bindings/read-body.js";
import { parseEvents } from "../bindings/sse.js";
import { deadlineOf } from "../client/deadline.js";
import { unreachable } from "../runtime/unreachable.js";
import { excerpt, type Outcome, type SpeakerContext } from "./speaker.js";

/** Larger answers, and larger events, are broken ones. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** No check waits for more. */
export const MAX_EVENTS = 1_000;

/** A raw request. */
export interface BareRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly timeoutMs: number;
}

/** A raw answer that has begun. Let go of it in any case. */
export interface BareResponse {
  readonly response: Response;
  /** In lower case, without parameters. */
  readonly type: string;
  release(): void;
}

/** Sends a request as it is, and follows no redirect. @returns why there is no answer, where there is none. */
export async function exchange(
  { runtime }: Pick<SpeakerContext, "runtime">,
  { url, method, headers, body, timeoutMs }: BareRequest,
): Promise<BareResponse | Outcome> {
  const controller = new AbortController();
  const { signal, clear } = deadlineOf(runtime, controller.signal, timeoutMs);
  const release = () => {
    clear();
    controller.abort();
  };
  try {
    const init: RequestInit = { method, headers, redirect: "manual", signal: signal ?? null };
    const response = await fetch(
      url,
      body === undefined ? init : { ...init, body: body as NonNullable<RequestInit["body"]> },
    );
    const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
    return { response, type, release };
  } catch (error) {
    release();
    return { case: "silent", why: reasonOf(error, url) };
  }
}

/** Whether a request got an answer. */
export function isAnswered(answer: BareResponse | Outcome): answer is BareResponse {
  return "response" in answer;
}

/** A whole body: JSON, or why it is none. Lets go of the answer. */
export async function readJson(answer: BareResponse): Promise<{ readonly json: unknown } | Outcome> {
  const { response, type } = answer;
  const what = `HTTP ${response.status}${type === "" ? "" : ` ${type}`}`;
  const bytes = await readBytes(answer);
  if (!(bytes instanceof Uint8Array)) return bytes;
  try {
    return { json: parseJson(bytes, DEFAULT_MAX_DEPTH) };
  } catch {
    return {
      case: "broken",
      why: `${what} that is no JSON: ${excerpt(new TextDecoder().decode(bytes.subarray(0, 1_000)))}`,
    };
  }
}

/** A whole body, or why there is none. Lets go of the answer. */
export async function readBytes({ response, release }: BareResponse): Promise<Uint8Array | Outcome> {
  try {
    const bytes = await readBody(response.body, MAX_ANSWER_BYTES);
    return bytes ?? { case: "broken", why: `an answer of more than ${MAX_ANSWER_BYTES} bytes` };
  } catch (error) {
    return { case: "silent", why: `HTTP ${response.status}, and then: ${reasonOf(error, response.url)}` };
  } finally {
    release();
  }
}

/** The JSON of each event of a stream, or why the stream broke. Lets go of the answer at the end. */
export async function* readEvents({
  response,
  release,
}: BareResponse): AsyncGenerator<{ readonly json: unknown } | Outcome> {
  try {
    if (response.body === null) return;
    let count = 0;
    for await (const { data } of parseEvents(response.body, MAX_ANSWER_BYTES)) {
      if (++count > MAX_EVENTS) {
        yield { case: "broken", why: `a stream of more than ${MAX_EVENTS} events` };
        return;
      }
      yield parsed(data);
    }
  } catch (error) {
    const isRefused = error instanceof A2AError;
    yield isRefused ? { case: "broken", why: error.message } : { case: "silent", why: reasonOf(error, response.url) };
  } finally {
    release();
  }
}

function parsed(data: string): { readonly json: unknown } | Outcome {
  try {
    return { json: parseJsonText(data, DEFAULT_MAX_DEPTH) };
  } catch {
    return { case: "broken", why: `an event that is no JSON: ${excerpt(data)}` };
  }
}

/** Why a request, or the reading of its answer, failed. */
export function reasonOf(error: unknown, url: string): string {
  const known = unreachable(error, url);
  if (known !== undefined) return known;
  return error instanceof Error ? excerpt(error.message) : String(error);
}
