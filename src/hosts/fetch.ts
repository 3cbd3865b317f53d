import { WELL_KNOWN_CARD } from "../a2a/agent-card.js";
import { A2AError } from "../a2a/errors.js";
import type { WireRequest, WireResponse } from "../bindings/binding.js";
import { decodeSegment } from "../bindings/http-json/request.js";
import { nothingHere, refusal } from "../bindings/http-json/status.js";
import { readBody } from "../bindings/read-body.js";
import { refusalOf } from "../bindings/wire-error.js";
import { locate, type MountedBindings } from "./binding-path.js";
import { createPublicAnswers, type PublicAnswers, type PublicAnswersOptions } from "./public-answers.js";

/** What the fetch host carries. */
export interface FetchHostOptions extends MountedBindings, PublicAnswersOptions {
  /** Largest request body, in bytes. */
  readonly maxBodyBytes: number;
  /** The signal that the bindings were given. */
  readonly draining: AbortSignal;
}

/** Answers a request. Never rejects. */
export type FetchHandler = (request: Request) => Promise<Response>;

/**
 * The host for where there is no socket to listen on: Workers, Deno, Bun, a framework's route. The same JSON bindings, card and health
 * as on a port. An authenticator sees no remote address here. It has no public entry yet: `nuncio/fetch` will be one.
 */
export function createFetchHost(options: FetchHostOptions): FetchHandler {
  const answers = createPublicAnswers(options);

  async function answer(request: Request, gone: AbortController): Promise<WireResponse> {
    const url = new URL(request.url);
    const { method, headers } = request;
    const known = publicAnswer(answers, options.draining, method, url.pathname, headers);
    if (known !== undefined) return known;
    const located = locate(options, url.pathname);
    if (located === undefined) return nothingHere(headers);
    const isTooLong = Number(headers.get("content-length")) > options.maxBodyBytes;
    const body = isTooLong ? undefined : await readBody(request.body, options.maxBodyBytes);
    if (body === undefined) return located.binding.refuse(new A2AError("REQUEST_TOO_LARGE"), headers);
    const wire: WireRequest = {
      method,
      path: located.path,
      query: url.searchParams,
      headers,
      body,
      auth: { headers, url, remoteAddress: "", original: request },
      signal: gone.signal,
    };
    return located.binding.handle(wire);
  }

  return async (request) => {
    const gone = new AbortController();
    request.signal.addEventListener("abort", () => gone.abort(), { once: true });
    if (request.signal.aborted) gone.abort();
    try {
      return responseOf(await answer(request, gone), request.method, gone);
    } catch (thrown) {
      return responseOf(refusal(refusalOf(thrown, options, gone.signal), request.headers), request.method, gone);
    }
  };
}

/** The paths that are the same on every host. */
function publicAnswer(
  answers: PublicAnswers,
  draining: AbortSignal,
  method: string,
  path: string,
  headers: Headers,
): Promise<WireResponse> | WireResponse | undefined {
  const agent = /^\/agents\/([^/]+)(\/.*)$/.exec(path);
  const isCard = path === WELL_KNOWN_CARD || agent?.[2] === WELL_KNOWN_CARD;
  if (isCard && method === "OPTIONS") return answers.preflight();
  if (method !== "GET" && method !== "HEAD") return undefined;
  if (isCard) return answers.card(agent?.[1] === undefined ? undefined : decodeSegment(agent[1]), headers);
  switch (path) {
    case "/agents":
      return answers.agents();
    case "/healthz":
      return answers.health();
    case "/readyz":
      return answers.readiness(draining.aborted);
    default:
      return undefined;
  }
}

function responseOf({ status, headers, body }: WireResponse, method: string, gone: AbortController): Response {
  const init = { status, headers };
  if (typeof body !== "string") return new Response(streamOf(body, gone), init);
  const isBare = method === "HEAD" || status === 204 || status === 304;
  return new Response(isBare ? null : body, init);
}

/** A frame is asked for when there is room for it; who cancels has gone. */
function streamOf(frames: AsyncIterable<string>, gone: AbortController): ReadableStream<Uint8Array> {
  const iterator = frames[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const step = await iterator.next();
      if (step.done === true) controller.close();
      else controller.enqueue(encoder.encode(step.value));
    },
    async cancel() {
      gone.abort();
      await iterator.return?.();
    },
  });
}
