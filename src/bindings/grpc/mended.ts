import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamFromJson,
  endStreamToJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { findTrailerError, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { A2AError } from "../../a2a/errors.js";
import { toConnectError } from "./errors.js";

const MESSAGE = "grpc-message";
const ENVELOPE_HEAD_BYTES = 5;
/** How Connect begins what it says of bytes that are no protobuf. An error of ours that says the same (of a peer's) has details. */
const UNREADABLE = "parse binary: ";
/** What Connect says of a message that is larger than `readMaxBytes`. */
const TOO_LARGE = "larger than configured readMaxBytes";
/** Of a Connect call without a stream, where an error may be one to mend. */
const MENDED_STATUSES: ReadonlySet<number> = new Set(
  [Code.Internal, Code.ResourceExhausted, Code.InvalidArgument].map(codeToHttpStatus),
);

type Body = AsyncIterable<Uint8Array>;

/** How Connect begins what it says of a body that is no JSON: it names the type that our codec reads from. */
const NO_JSON = "cannot decode message google.protobuf.Value from JSON";

/**
 * Mends four things of Connect's. It encodes more of a gRPC status message than gRPC asks for, and grpc-js decodes less than that: its
 * users would read `%3A` for each colon. It calls a request that is no protobuf an internal error, which others may take for ours. Of
 * one that is too large it doesn't say which of the exhausted resources that is. And of what is no JSON it says things that nobody but
 * us understands. Where it says so is another place on each wire.
 */
export async function mended(response: UniversalServerResponse): Promise<UniversalServerResponse> {
  const { body, trailer, status, header } = response;
  if (body === undefined) return response;
  if (trailer !== undefined) return { ...response, body: thenTrailer(body, trailer) };
  if (MENDED_STATUSES.has(status)) return unaryError(response, body);
  const streams = /^application\/(grpc-web|connect)\b/.test(header?.get("content-type") ?? "");
  return streams ? { ...response, body: withEnd(body) } : response;
}

/** What is said of a request that Connect itself refused; `undefined` for anything else. */
function betterError(error: ConnectError | undefined): ConnectError | undefined {
  if (error === undefined || error.details.length > 0) return undefined;
  const { code, rawMessage } = error;
  if (code === Code.Internal && rawMessage.startsWith(UNREADABLE)) {
    return new ConnectError(rawMessage, Code.InvalidArgument);
  }
  if (code === Code.ResourceExhausted && rawMessage.includes(TOO_LARGE)) {
    return toConnectError(new A2AError("REQUEST_TOO_LARGE"), []);
  }
  if (code === Code.InvalidArgument && rawMessage.startsWith(NO_JSON)) {
    return toConnectError(new A2AError("PARSE_ERROR"), []);
  }
  return undefined;
}

/** gRPC: in the trailer, which is there when the body has ended. */
async function* thenTrailer(body: Body, trailer: Headers): AsyncGenerator<Uint8Array> {
  yield* body;
  mendTrailer(trailer);
}

function mendTrailer(trailer: Headers): void {
  const better = betterError(findTrailerError(trailer));
  if (better !== undefined) setTrailerStatus(trailer, better);
  const encoded = trailer.get(MESSAGE);
  if (encoded === null) return;
  trailer.set(MESSAGE, decodeURIComponent(encoded).replace(/[^ -~]+|%/gu, encodeURIComponent));
}

/** Connect without a stream: a status, and a small JSON, which is read here whole. */
async function unaryError(response: UniversalServerResponse, body: Body): Promise<UniversalServerResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const told = Buffer.concat(chunks);
  const better = betterError(errorIn(told));
  if (better === undefined) return { ...response, body: oneChunk(told) };
  const json = errorToJsonBytes(better, undefined);
  const header = new Headers(response.header);
  header.set("content-length", String(json.length));
  return { ...response, status: codeToHttpStatus(better.code), header, body: oneChunk(json) };
}

function errorIn(json: Uint8Array): ConnectError | undefined {
  try {
    return errorFromJsonBytes(json, undefined, new ConnectError("no JSON"));
  } catch {
    return undefined;
  }
}

/** A stream of gRPC-Web or Connect: in its last envelope, which comes in one piece. */
async function* withEnd(body: Body): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    const [flags] = chunk;
    yield flags === trailerFlag || flags === endStreamFlag ? mendedEnd(Buffer.from(chunk), flags) : chunk;
  }
}

function mendedEnd(envelope: Buffer, flags: number): Uint8Array {
  const content = envelope.subarray(ENVELOPE_HEAD_BYTES);
  if (envelope.length < ENVELOPE_HEAD_BYTES || envelope.readUInt32BE(1) !== content.length) return envelope;
  const told = flags === trailerFlag ? mendedTrailer(content) : mendedEndStream(content);
  if (told === undefined) return envelope;
  const head = envelope.subarray(0, ENVELOPE_HEAD_BYTES);
  head.writeUInt32BE(told.length, 1);
  return Buffer.concat([head, told]);
}

function mendedTrailer(content: Uint8Array): Uint8Array {
  const trailer = trailerParse(content);
  mendTrailer(trailer);
  return trailerSerialize(trailer);
}

function mendedEndStream(content: Uint8Array): Uint8Array | undefined {
  const { metadata, error } = endStreamFromJson(content);
  const better = betterError(error);
  return better && Buffer.from(JSON.stringify(endStreamToJson(metadata, better, undefined)));
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
