import type { JsonObject } from "@bufbuild/protobuf";
import type { Operation } from "../a2a/operation.js";
import { isObject } from "../a2a/unknown-json.js";
import { judgeRpcAnswer } from "./error-shape.js";
import { type BareResponse, exchange, isAnswered, readEvents, readJson } from "./http.js";
import { addressed, judgeOutput, judgeShape, resultOf, wireError } from "./judge-answer.js";
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

/** A speaker of JSON-RPC (§9), and its raw request. */
export interface JsonRpcSpeaker extends Speaker {
  readonly binding: "jsonrpc";
  /** Posts a body as it is. */
  post(body: string, id: unknown): Promise<Outcome>;
}

export function createJsonRpcSpeaker(context: SpeakerContext): JsonRpcSpeaker {
  const { record, runtime } = context;
  const { tenant } = context.interface;

  function send(body: string, accept: string, options: SpeakOptions = {}): Promise<BareResponse | Outcome> {
    const { query, timeoutMs = context.timeoutMs } = options;
    const url = query === undefined ? context.interface.url : withQuery(context.interface.url, query);
    const headers = headersOf(context, { accept, "content-type": "application/json" }, options);
    return exchange(context, { url, method: "POST", headers, body, timeoutMs });
  }

  /** What is in an envelope. */
  function unwrap(json: unknown, id: unknown, operation: Operation | undefined, { response }: BareResponse): Outcome {
    if (!isObject(json)) return resultOf(json);
    judgeShape(record, "jsonrpc.envelope", judgeRpcAnswer(json), excerpt(JSON.stringify(json)));
    const isMute = isObject(json.error) && json.id === null; // where the id couldn't be read
    if (!isMute)
      record.expect("jsonrpc.id", json.id === id, () => `${JSON.stringify(json.id)} for ${JSON.stringify(id)}`);
    if (isObject(json.error)) {
      const { code, message, data } = json.error;
      return wireError(
        typeof code === "number" ? code : 0,
        { message, details: data },
        {
          isUnauthenticated: response.status === 401,
          challenge: response.headers.get("www-authenticate"),
        },
      );
    }
    if (!Object.hasOwn(json, "result")) return { case: "broken", why: "an envelope with neither result nor error" };
    if (operation !== undefined) judgeOutput(record, operation, json.result);
    return resultOf(json.result);
  }

  async function read(answer: BareResponse, id: unknown, operation?: Operation): Promise<Outcome> {
    const { response, type } = answer;
    const body = await readJson(answer);
    if (!("json" in body)) {
      if (response.status !== 401 && response.status !== 403) return body;
      const challenge = response.headers.get("www-authenticate");
      return wireError(response.status, { message: "", details: [] }, { isUnauthenticated: true, challenge });
    }
    record.expect("jsonrpc.content-type", type === "application/json", () => type || "no content type");
    return unwrap(body.json, id, operation, answer);
  }

  return {
    binding: "jsonrpc",
    isJson: true,
    codes: "jsonRpc",
    async post(body, id) {
      const answer = await send(body, "application/json");
      return isAnswered(answer) ? read(answer, id) : answer;
    },
    async call(operation, request, options) {
      const id = runtime.id();
      const answer = await send(bodyOf(id, operation, addressed(request, tenant)), "application/json", options);
      return isAnswered(answer) ? read(answer, id, options?.isUnjudged ? undefined : operation) : answer;
    },
    async open(operation, request, options): Promise<OpenStream | Outcome> {
      const id = runtime.id();
      const accept = "text/event-stream, application/json";
      const answer = await send(bodyOf(id, operation, addressed(request, tenant)), accept, options);
      if (!isAnswered(answer)) return answer;
      if (answer.type !== "text/event-stream") {
        if (answer.response.ok && answer.type !== "application/json")
          record.fail("stream.content-type", answer.type || "no content type");
        return read(answer, id, operation);
      }
      record.pass("stream.content-type");
      return streamOf(record, readEvents(answer), ({ json }) => unwrap(json, id, operation, answer), answer.release);
    },
    close() {},
  };
}

function bodyOf(id: string, { name }: Operation, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method: name, params });
}

function withQuery(url: string, query: string): string {
  return `${url}${url.includes("?") ? "&" : "?"}${query}`;
}
