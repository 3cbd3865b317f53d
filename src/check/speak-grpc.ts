import { type DescMessage, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { decodeJson, encodeJson } from "../a2a/codec.js";
import type { Operation } from "../a2a/operation.js";
import { A2AService } from "../a2a/types.js";
import { type CarriedCall, createGrpcWebCarrier, createHttp2Carrier, type GrpcCarrier } from "./grpc-carrier.js";
import { addressed, judgeOutput, resultOf, wireError } from "./judge-answer.js";
import { statusDetails } from "./rpc-details.js";
import {
  excerpt,
  headersOf,
  type OpenStream,
  type Outcome,
  type Speaker,
  type SpeakerContext,
  type SpeakOptions,
} from "./speaker.js";
import { streamOf } from "./stream-of.js";

/** A speaker of gRPC (§10), or of gRPC-Web, and its raw call. */
export interface GrpcSpeaker extends Speaker {
  readonly binding: "grpc" | "grpc-web";
  /** Calls a method of the service with bytes as they are. */
  send(method: string, message: Uint8Array): Promise<Outcome>;
}

const UNAUTHENTICATED = 16;

export function createGrpcSpeaker(binding: "grpc" | "grpc-web", context: SpeakerContext): GrpcSpeaker {
  const carrier: GrpcCarrier = binding === "grpc" ? createHttp2Carrier(context) : createGrpcWebCarrier(context);
  const { record } = context;
  const { tenant } = context.interface;

  function send(method: string, message: Uint8Array, options: SpeakOptions = {}): Promise<CarriedCall | Outcome> {
    const { timeoutMs = context.timeoutMs } = options;
    return carrier.call(`/${A2AService.typeName}/${method}`, message, headersOf(context, {}, options), timeoutMs);
  }

  /** How a call ended: an error, or well (`undefined`). */
  function endOf({ trailers, headers, contentType }: CarriedCall): Outcome | undefined {
    const all = { ...headers, ...trailers() };
    const status = all["grpc-status"];
    const isSpoken = contentType.startsWith("application/grpc") && /^\d+$/.test(status ?? "");
    const seen = `HTTP ${headers[":status"] ?? ""} ${contentType}, grpc-status ${status ?? "missing"}`;
    record.expect("grpc.status", isSpoken, () => seen);
    if (!isSpoken) {
      if (headers[":status"] !== "401") return { case: "broken", why: `no call of gRPC: ${seen}` };
      return wireError(UNAUTHENTICATED, { message: seen, details: [] }, unauthenticated(all["www-authenticate"]));
    }
    if (status === "0") return undefined;
    const details = statusDetails(all["grpc-status-details-bin"]);
    if (details === undefined) record.fail("grpc.status", "grpc-status-details-bin that is no google.rpc.Status");
    const message = decoded(all["grpc-message"] ?? "");
    const known = status === String(UNAUTHENTICATED) ? unauthenticated(all["www-authenticate"]) : authenticated;
    return wireError(Number(status), { message, details: details ?? [] }, known);
  }

  function messageOf(bytes: Uint8Array, operation: Operation, isUnjudged = false): Outcome {
    if (!isUnjudged) judgeOutput(record, operation, bytes);
    try {
      return resultOf(encodeJson(operation.output, fromBinary<DescMessage>(operation.output, bytes)));
    } catch (error) {
      return { case: "broken", why: `no ${operation.output.name}: ${error instanceof Error ? error.message : error}` };
    }
  }

  async function read(call: CarriedCall, operation?: Operation, isUnjudged?: boolean): Promise<Outcome> {
    let result: Outcome | undefined;
    for await (const message of call.messages) {
      if (!(message instanceof Uint8Array)) result = message;
      else
        result ??= operation === undefined ? { case: "result", json: {} } : messageOf(message, operation, isUnjudged);
    }
    call.release();
    if (result?.case === "silent" || result?.case === "broken") return result;
    return endOf(call) ?? result ?? { case: "broken", why: "an OK without a message" };
  }

  /** A stream's messages, and what ended it if that is an error. */
  async function* eventsOf(call: CarriedCall): AsyncGenerator<Uint8Array | Outcome> {
    let isWhole = true;
    for await (const message of call.messages) {
      isWhole &&= message instanceof Uint8Array;
      yield message;
    }
    const end = isWhole ? endOf(call) : undefined;
    if (end !== undefined) yield end;
  }

  return {
    binding,
    isJson: false,
    codes: "grpc",
    async send(method, message) {
      const call = await send(method, message);
      return "messages" in call ? read(call) : call;
    },
    async call(operation, request, options) {
      const call = await send(operation.name, bytesOf(operation, addressed(request, tenant)), options);
      return "messages" in call ? read(call, operation, options?.isUnjudged) : call;
    },
    async open(operation, request, options): Promise<OpenStream | Outcome> {
      const call = await send(operation.name, bytesOf(operation, addressed(request, tenant)), options);
      if (!("messages" in call)) return call;
      return streamOf(record, eventsOf(call), (bytes) => messageOf(bytes, operation), call.release);
    },
    close: () => carrier.close(),
  };
}

/** Read as forgivingly as it goes, so that what is missing is missing on the wire. */
function bytesOf({ input }: Operation, request: JsonObject): Uint8Array {
  return toBinary<DescMessage>(input, decodeJson<DescMessage>(input, request, { from: "peer" }));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return excerpt(text);
  }
}

const authenticated = { isUnauthenticated: false, challenge: null };

function unauthenticated(challenge: string | undefined) {
  return { isUnauthenticated: true, challenge: challenge ?? null };
}
