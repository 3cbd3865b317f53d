import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../a2a/call.js";
import type { Operation } from "../a2a/operation.js";
import { setPosition } from "../a2a/position.js";
import type { StreamResponse } from "../a2a/types.js";
import { DEFAULT_MAX_ANSWER_BYTES, type Exchange, invalidAnswer, type WireClientOptions } from "./client.js";
import { DEFAULT_MAX_DEPTH, parseJsonText } from "./json.js";
import { parseEvents } from "./sse.js";
import { HttpAnswer } from "./wire-error.js";

/**
 * The events of a stream that has begun, each with its position if it came with one. A stream that ends early is one that ends: who
 * wants the rest resumes.
 *
 * @param unwrap takes the JSON of the response out of what came. @throws the typed error that came instead.
 */
export async function* readEvents(
  { response, release }: Exchange,
  operation: Operation,
  unwrap: (json: unknown, cause: HttpAnswer) => unknown,
  { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES, maxDepth = DEFAULT_MAX_DEPTH }: WireClientOptions,
  call: Call,
): AsyncGenerator<Message, void, undefined> {
  const cause = new HttpAnswer(response);
  try {
    if (response.body === null) return;
    for await (const { data, id } of parseEvents(response.body, maxAnswerBytes)) {
      const event = operation.readResponse(unwrap(readEvent(data, maxDepth, cause), cause));
      yield id === undefined || id === "" ? event : setPosition(event as StreamResponse, id);
    }
  } catch (error) {
    call.signal?.throwIfAborted();
    throw error;
  } finally {
    release();
  }
}

function readEvent(data: string, maxDepth: number, cause: HttpAnswer): unknown {
  try {
    return parseJsonText(data, maxDepth);
  } catch {
    throw invalidAnswer("an event of the stream is no JSON", cause);
  }
}
