import type { JsonObject } from "@bufbuild/protobuf";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import type { Operation } from "../a2a/operation.js";
import { A2AService } from "../a2a/types.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { frameOf, framesOf } from "./grpc-carrier.js";
import { type BareResponse, exchange, isAnswered, readJson } from "./http.js";
import { addressed, judgeOutput, resultOf, wireError } from "./judge-answer.js";
import { rpcDetail } from "./rpc-details.js";
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

const END_FLAG = 0x02;
const UNKNOWN = 2;

/** A speaker of Connect. */
export interface ConnectSpeaker extends Speaker {
  readonly binding: "connect";
}

/** Speaks Connect with JSON (the custom binding of docs/bindings.md). */
export function createConnectSpeaker(context: SpeakerContext): ConnectSpeaker {
  const { record } = context;
  const { tenant, url } = context.interface;
  const base = url.replace(/\/+$/, "");

  function send({ name }: Operation, contentType: string, body: string | Uint8Array, options: SpeakOptions = {}) {
    const { timeoutMs = context.timeoutMs } = options;
    const own = { "content-type": contentType, "connect-protocol-version": "1" };
    return exchange(context, {
      url: `${base}/${A2AService.typeName}/${name}`,
      method: "POST",
      headers: headersOf(context, own, options),
      body,
      timeoutMs,
    });
  }

  function readError(json: unknown, { response }: BareResponse): Outcome {
    if (!isObject(json) || typeof json.code !== "string")
      return {
        case: "broken",
        why: `HTTP ${response.status} that is no Connect error: ${excerpt(JSON.stringify(json) ?? "")}`,
      };
    const details = (Array.isArray(json.details) ? json.details : []).filter(isObject).map(readDetail);
    const challenge = response.headers.get("www-authenticate");
    const isUnauthenticated = json.code === "unauthenticated";
    return wireError(
      codeFromString(json.code) ?? UNKNOWN,
      { message: json.message, details },
      { isUnauthenticated, challenge },
    );
  }

  async function read(answer: BareResponse, operation: Operation | undefined): Promise<Outcome> {
    const body = await readJson(answer);
    if (!("json" in body)) return body;
    if (!answer.response.ok) return readError(body.json, answer);
    if (operation !== undefined) judgeOutput(record, operation, body.json);
    return resultOf(body.json);
  }

  async function* eventsOf(answer: BareResponse): AsyncGenerator<{ readonly json: unknown } | Outcome> {
    const body: AsyncIterable<Uint8Array> = answer.response.body ?? new Blob([]).stream();
    for await (const frame of framesOf(body, base)) {
      if (!("flags" in frame)) {
        yield frame;
        return;
      }
      const json = parsed(frame.bytes);
      if ((frame.flags & END_FLAG) === 0) yield { json };
      else if (isObject(json) && json.error !== undefined) yield readError(json.error, answer);
    }
    answer.release();
  }

  return {
    binding: "connect",
    isJson: true,
    codes: "grpc",
    async call(operation, request, options) {
      const answer = await send(operation, "application/json", JSON.stringify(addressed(request, tenant)), options);
      return isAnswered(answer) ? read(answer, options?.isUnjudged ? undefined : operation) : answer;
    },
    async open(operation, request, options): Promise<OpenStream | Outcome> {
      const message = new TextEncoder().encode(JSON.stringify(addressed(request, tenant)));
      const answer = await send(operation, "application/connect+json", frameOf(message), options);
      if (!isAnswered(answer)) return answer;
      if (answer.type !== "application/connect+json") return read(answer, operation);
      const unwrap = ({ json }: { readonly json: unknown }): Outcome => {
        judgeOutput(record, operation, json);
        return resultOf(json);
      };
      return streamOf(record, eventsOf(answer), unwrap, answer.release);
    },
    close() {},
  };
}

/** Its bytes are what counts; what stands beside them is for people. */
function readDetail({ type, value }: UnknownObject): JsonObject | undefined {
  try {
    return rpcDetail(`type.googleapis.com/${type}`, Buffer.from(String(value), "base64"));
  } catch {
    return undefined;
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
