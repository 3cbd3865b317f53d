import type { JsonObject } from "@bufbuild/protobuf";
import type { Operation } from "../a2a/operation.js";
import { isObject } from "../a2a/unknown-json.js";
import { join, requestOf } from "../bindings/http-json/client.js";
import { type Route, routesOf } from "../bindings/http-json/http-rule.js";
import { judgeStatusBody } from "./error-shape.js";
import { type BareResponse, exchange, isAnswered, readBytes, readEvents, readJson } from "./http.js";
import { addressed, judgeOutput, judgeShape, resultOf, wireError } from "./judge-answer.js";
import {
  excerpt,
  headersOf,
  type OpenStream,
  type Outcome,
  type Speaker,
  type SpeakerContext,
  type SpeakOptions,
  told,
} from "./speaker.js";
import { streamOf } from "./stream-of.js";

/** A speaker of HTTP+JSON (§11), and its raw request. */
export interface HttpJsonSpeaker extends Speaker {
  readonly binding: "http-json";
  /** Sends a request as it is; `target` is what stands behind the interface's URL. */
  send(method: string, target: string, body?: string): Promise<Outcome>;
}

const ACCEPT = "application/a2a+json, application/json";

export function createHttpJsonSpeaker(context: SpeakerContext): HttpJsonSpeaker {
  const { record } = context;
  const { tenant, url: base } = context.interface;

  function send(method: string, target: string, accept: string, body?: string, options: SpeakOptions = {}) {
    const { query, timeoutMs = context.timeoutMs } = options;
    const whole = query === undefined ? target : `${target}${target.includes("?") ? "&" : "?"}${query}`;
    const own = { accept, ...(body !== undefined && { "content-type": "application/a2a+json" }) };
    const headers = headersOf(context, own, options);
    return exchange(context, { url: join(base, whole), method, headers, body, timeoutMs });
  }

  function sendBy(route: Route, request: JsonObject, accept: string, options?: SpeakOptions) {
    const { target, body } = requestOf(route, request);
    return send(route.method, target, accept, body, options);
  }

  function routesFor(operation: Operation): readonly Route[] {
    return routesOf(operation).filter((route) => route.tenant === (tenant !== ""));
  }

  async function read(answer: BareResponse, operation?: Operation): Promise<Outcome> {
    const { response, type } = answer;
    if (response.ok && operation?.output.fields.length === 0) {
      const bytes = await readBytes(answer);
      return bytes instanceof Uint8Array ? { case: "result", json: {} } : bytes; // some answer a DELETE with 204
    }
    const body = await readJson(answer);
    if (!("json" in body) && body.case === "silent") return body;
    if (!response.ok) return readError(answer, body);
    if (!("json" in body)) return body;
    record.expect("http.content-type", type === "application/a2a+json", () => type || "no content type");
    if (operation !== undefined) judgeOutput(record, operation, body.json);
    return resultOf(body.json);
  }

  function readError({ response, type }: BareResponse, body: { readonly json: unknown } | Outcome): Outcome {
    const { status } = response;
    const json = "json" in body ? body.json : undefined;
    const seen = "json" in body ? `HTTP ${status} ${type}: ${excerpt(JSON.stringify(json))}` : told(body);
    judgeShape(record, "http.error-shape", judgeStatusBody(json), seen);
    const { code, message, details } = isObject(json) && isObject(json.error) ? json.error : {};
    if (Number.isInteger(code))
      record.expect("http.error-shape", code === status, () => `error.code ${code} in an answer with HTTP ${status}`);
    return wireError(
      status,
      { message: message ?? seen, details },
      {
        isUnauthenticated: status === 401,
        challenge: response.headers.get("www-authenticate"),
      },
    );
  }

  function readEvent(json: unknown, operation: Operation): Outcome {
    if (isObject(json) && isObject(json.error)) {
      judgeShape(record, "http.error-shape", judgeStatusBody(json), excerpt(JSON.stringify(json)));
      const { code, message, details } = json.error;
      const known = { isUnauthenticated: code === 401, challenge: null };
      return wireError(typeof code === "number" ? code : 0, { message, details }, known);
    }
    judgeOutput(record, operation, json);
    return resultOf(json);
  }

  return {
    binding: "http-json",
    isJson: true,
    codes: "http",
    async send(method, target, body) {
      const answer = await send(method, target, ACCEPT, body);
      return isAnswered(answer) ? read(answer) : answer;
    },
    async call(operation, request, options) {
      const [route] = routesFor(operation);
      if (route === undefined) return { case: "broken", why: `${operation.name} has no route here` };
      const answer = await sendBy(route, addressed(request, tenant), ACCEPT, options);
      return isAnswered(answer) ? read(answer, options?.isUnjudged ? undefined : operation) : answer;
    },
    async open(operation, request, options): Promise<OpenStream | Outcome> {
      let last: Outcome = { case: "broken", why: `${operation.name} has no route here` };
      for (const route of routesFor(operation)) {
        const answer = await sendBy(route, addressed(request, tenant), `text/event-stream, ${ACCEPT}`, options);
        if (!isAnswered(answer)) return answer;
        const { response, type, release } = answer;
        const isSubscribe = route.verb === "subscribe" && route.method === "POST";
        if (response.ok && type === "text/event-stream") {
          record.pass("stream.content-type");
          if (isSubscribe) record.pass("http.subscribe");
          return streamOf(record, readEvents(answer), ({ json }) => readEvent(json, operation), release);
        }
        if (response.ok) record.fail("stream.content-type", type || "no content type");
        if (!isSubscribe || !(response.status === 405 || response.status === 404 || response.status === 501))
          return read(answer, operation);
        last = await read(answer, operation);
        if (last.case === "error" && last.error.reason !== undefined) return last;
        record.fail("http.subscribe", `HTTP ${response.status} to POST; GET is tried instead`);
      }
      return last;
    },
    close() {},
  };
}
