import { type DescMessage, fromBinary, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { type Envelope, envelopesIn, methodNamed, type Operation, type Received, type Wire } from "./exchange.js";

/** A refusal, in words that all wires share. */
export interface Refusal {
  /** The wire's own code: a number, or its name (HTTP+JSON, Connect). */
  readonly code: number | string;
  readonly message: string;
  /** Of the `ErrorInfo`; of an error without one (§9.5's standard errors) `undefined`. */
  readonly reason: string | undefined;
  readonly domain: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Paths of the `BadRequest`. */
  readonly fields: readonly string[];
}

/** What an operation came to. */
export interface Outcome {
  readonly status: number;
  /** Each message, as protobuf-es writes it, so that wires can be compared. */
  readonly messages: readonly JsonValue[];
  readonly error: Refusal | undefined;
}

/** Reads an answer. @throws for what isn't one of this wire. */
export function outcomeOf(wire: Wire, operation: Operation, received: Received): Outcome {
  const { output } = methodNamed(operation);
  const streams = methodNamed(operation).methodKind === "server_streaming";
  switch (wire) {
    case "JSON-RPC":
      return combine(received, jsonTextsOf(received).map(readJsonRpc), output);
    case "HTTP+JSON":
      return combine(received, jsonTextsOf(received).map(readRest), output);
    case "gRPC":
      return {
        status: received.status,
        messages: envelopesIn(received.body).map(({ data }) => readBinary(output, data)),
        error: readTrailers({ ...received.headers, ...received.trailers }),
      };
    case "gRPC-Web":
      return readWeb(output, received);
    default: {
      const json = wire === "Connect JSON";
      const message = (data: Buffer) => (json ? compared(output, parse(data)) : readBinary(output, data));
      if (!streams || received.headers["content-type"] === "application/json") {
        if (received.status === 200) return { status: 200, messages: [message(received.body)], error: undefined };
        return { status: received.status, messages: [], error: readConnect(parse(received.body)) };
      }
      const all = envelopesIn(received.body);
      const end = parse((all.at(-1) as Envelope).data) as { error?: JsonValue };
      return {
        status: received.status,
        messages: all.slice(0, -1).map(({ data }) => message(data)),
        error: end.error === undefined ? undefined : readConnect(end.error),
      };
    }
  }
}

/** The `data` of each event, or the one body. */
export function jsonTextsOf({ headers, body }: Received): string[] {
  const type = headers["content-type"] ?? "";
  const text = body.toString();
  if (/^application\/(a2a\+)?json\b/.test(type)) return [text];
  if (!type.startsWith("text/event-stream")) throw new Error(`An answer in ${type}: ${text.slice(0, 200)}`);
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? "");
}

type Read = { readonly result: JsonValue } | { readonly error: Refusal };

function readJsonRpc(text: string): Read {
  const answer = JSON.parse(text) as { jsonrpc?: string; result?: JsonValue; error?: Record<string, unknown> };
  if (answer.jsonrpc !== "2.0") throw new Error(`No JSON-RPC answer: ${text}`);
  if (answer.result !== undefined) return { result: answer.result };
  const { code, message, data } = answer.error ?? {};
  return { error: refusal(code as number, message as string, data) };
}

function readRest(text: string): Read {
  const answer = JSON.parse(text) as { error?: { status: string; message: string; details?: unknown } };
  if (answer.error === undefined) return { result: answer as JsonValue };
  return { error: refusal(answer.error.status, answer.error.message, answer.error.details) };
}

function readConnect(given: JsonValue): Refusal {
  const {
    code,
    message = "",
    details = [],
  } = given as {
    code: string;
    message?: string;
    details?: { type: string; value: string }[];
  };
  return refusal(
    code,
    message,
    details.map(({ type, value }) => readDetail(`type.googleapis.com/${type}`, Buffer.from(value, "base64"))),
  );
}

function readWeb(output: DescMessage, received: Received): Outcome {
  const all = envelopesIn(received.body);
  const trailers = all.filter(({ flags }) => (flags & 0x80) !== 0).map(({ data }) => data.toString());
  const fields = Object.fromEntries(
    trailers
      .join("")
      .split("\r\n")
      .filter((line) => line !== "")
      .map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  return {
    status: received.status,
    messages: all.filter(({ flags }) => (flags & 0x80) === 0).map(({ data }) => readBinary(output, data)),
    error: readTrailers({ ...received.headers, ...fields }),
  };
}

/** A status of gRPC with its details, from wherever it stands. */
function readTrailers(trailers: Readonly<Record<string, string>>): Refusal | undefined {
  const status = trailers["grpc-status"];
  if (status === undefined) throw new Error(`No grpc-status: ${JSON.stringify(trailers)}`);
  if (status === "0") return undefined;
  const bytes = trailers["grpc-status-details-bin"];
  const details = bytes === undefined ? [] : fromBinary(StatusSchema, Buffer.from(bytes, "base64")).details;
  return refusal(
    Number(status),
    decodeURIComponent(trailers["grpc-message"] ?? ""),
    details.map(({ typeUrl, value }) => readDetail(typeUrl, value)),
  );
}

/** A detail as ProtoJSON has it in an `Any`. */
export function readDetail(typeUrl: string, value: Uint8Array): object {
  const schema = [ErrorInfoSchema, BadRequestSchema].find(({ typeName }) => typeUrl.endsWith(`/${typeName}`));
  if (schema === undefined) return { "@type": typeUrl };
  return { "@type": typeUrl, ...(toJson<DescMessage>(schema, fromBinary<DescMessage>(schema, value)) as object) };
}

function refusal(code: number | string, message: string, details: unknown): Refusal {
  const all = (Array.isArray(details) ? details : []) as Record<string, unknown>[];
  for (const detail of all)
    if (typeof detail["@type"] !== "string") throw new Error(`A detail without @type: ${JSON.stringify(detail)}`);
  const of = (type: string) => all.find((detail) => detail["@type"] === `type.googleapis.com/google.rpc.${type}`);
  const info = of("ErrorInfo") as { reason?: string; domain?: string; metadata?: Record<string, string> } | undefined;
  const violations = (of("BadRequest")?.fieldViolations ?? []) as { field?: string }[];
  return {
    code,
    message,
    reason: info?.reason,
    domain: info?.domain,
    metadata: info?.metadata ?? {},
    fields: violations.map(({ field }) => field ?? ""),
  };
}

function combine({ status }: Received, read: readonly Read[], output: DescMessage): Outcome {
  const refused = read.find((one) => "error" in one) as { error: Refusal } | undefined;
  return {
    status,
    messages: read.flatMap((one) => ("result" in one ? [compared(output, one.result)] : [])),
    error: refused?.error,
  };
}

function readBinary(output: DescMessage, bytes: Uint8Array): JsonValue {
  return toJson(output, fromBinary(output, bytes));
}

function compared(output: DescMessage, json: JsonValue): JsonValue {
  return toJson(output, fromJson(output, json));
}

function parse(bytes: Buffer): JsonValue {
  return JSON.parse(bytes.toString()) as JsonValue;
}
