import type { UniversalServerResponse } from "@connectrpc/connect/protocol";

const MESSAGE = "grpc-message";
const STATUS = "grpc-status";
const DETAILS = "grpc-status-details-bin";
const INTERNAL = "13";
const INVALID_ARGUMENT = "3";
/** How Connect begins what it says of bytes that are no protobuf. An error of ours that says the same (of a peer's) has details. */
const UNREADABLE = "parse binary: ";
/** Of a stream's last envelope, in gRPC-Web and in Connect. */
const END_FLAGS: ReadonlySet<number | undefined> = new Set([0x80, 0x02]);
const ENVELOPE_HEAD_BYTES = 5;

type Body = AsyncIterable<Uint8Array>;

/**
 * Mends two things of Connect's. It encodes more of a gRPC status message than gRPC asks for, and grpc-js decodes less than that: its
 * users would read `%3A` for each colon. And it calls a request that is no protobuf an internal error, which others may take for ours;
 * where it says so is another place on each wire.
 */
export async function mended(response: UniversalServerResponse): Promise<UniversalServerResponse> {
  const { body, trailer, status, header } = response;
  if (body === undefined) return response;
  if (trailer !== undefined) return { ...response, body: thenTrailer(body, trailer) };
  if (status === 500) return unaryError(response, body);
  const streams = /^application\/(grpc-web|connect)\b/.test(header?.get("content-type") ?? "");
  return streams ? { ...response, body: withEnd(body) } : response;
}

/** gRPC: in the trailer, which is there when the body has ended. */
async function* thenTrailer(body: Body, trailer: Headers): AsyncGenerator<Uint8Array> {
  yield* body;
  const encoded = trailer.get(MESSAGE);
  if (encoded === null) return;
  const message = decodeURIComponent(encoded);
  trailer.set(MESSAGE, message.replace(/[^ -~]+|%/gu, encodeURIComponent));
  if (message.startsWith(UNREADABLE) && trailer.get(STATUS) === INTERNAL && !trailer.has(DETAILS)) {
    trailer.set(STATUS, INVALID_ARGUMENT);
  }
}

/** Connect without a stream: a status, and a small JSON, which is read here whole. */
async function unaryError(response: UniversalServerResponse, body: Body): Promise<UniversalServerResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const error = Buffer.concat(chunks);
  const told = blamingTheCaller(error);
  if (told === undefined) return { ...response, body: oneChunk(error) };
  const header = new Headers(response.header);
  header.set("content-length", String(told.length));
  return { ...response, status: 400, header, body: oneChunk(told) };
}

/** A stream of gRPC-Web or Connect: in its last envelope, which comes in one piece. */
async function* withEnd(body: Body): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield END_FLAGS.has(chunk[0]) ? mendedEnd(Buffer.from(chunk)) : chunk;
}

function mendedEnd(envelope: Buffer): Uint8Array {
  const content = envelope.subarray(ENVELOPE_HEAD_BYTES);
  if (envelope.length < ENVELOPE_HEAD_BYTES || envelope.readUInt32BE(1) !== content.length) return envelope;
  const told = blamingTheCaller(content);
  if (told === undefined) return envelope;
  const head = envelope.subarray(0, ENVELOPE_HEAD_BYTES);
  head.writeUInt32BE(told.length, 1);
  return Buffer.concat([head, told]);
}

/** What is said of unreadable bytes, as the caller's error; `undefined` for anything else. */
function blamingTheCaller(content: Buffer): Buffer | undefined {
  const text = content.toString();
  const json = `"code":"internal","message":"${UNREADABLE}`;
  if (text.includes(json) && !text.includes('"details":')) {
    return Buffer.from(text.replace(json, json.replace("internal", "invalid_argument")));
  }
  if (text.includes(`${MESSAGE}: ${encodeURIComponent(UNREADABLE)}`) && !text.includes(DETAILS)) {
    return Buffer.from(text.replace(`${STATUS}: ${INTERNAL}\r\n`, `${STATUS}: ${INVALID_ARGUMENT}\r\n`));
  }
  return undefined;
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
