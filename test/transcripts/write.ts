import { type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import {
  envelopesIn,
  type Headers,
  methodNamed,
  type Operation,
  type Received,
  type Sent,
  type Wire,
} from "../support/exchange.js";
import { readDetail } from "../support/outcome.js";

/** Headers that say something about the protocol. Dates, lengths and the connection's own don't. */
const SAYING =
  /^(content-type|te|a2a-.*|x-user|last-event-id|connect-protocol-version|accept|allow|www-authenticate|retry-after|cache-control|x-accel-buffering|x-content-type-options|grpc-.*|vary|etag|last-modified|if-none-match|access-control-.*|trailer|content-encoding)$/;
/** A longer body is only counted. */
const MAX_SHOWN_BYTES = 4_096;
const HEX_COLUMNS = 96;

/** An exchange as a person reads it: what is text as it is, what is binary in hex and, behind `≙`, as ProtoJSON. */
export function transcriptOf(wire: Wire, operation: Operation, sent: Sent, received: Received): string {
  const { input, output } = methodNamed(operation);
  const version = wire === "gRPC" ? "HTTP/2" : "HTTP/1.1";
  const request = [
    `${sent.method} ${sent.path} ${version}`,
    ...fieldsOf(sent.headers),
    ...bodyOf(sent.headers, sent.body, input),
  ];
  const answer = [
    `${version} ${received.status}`,
    ...fieldsOf(received.headers),
    ...bodyOf(received.headers, received.body, output),
    ...fieldsOf(received.trailers),
  ];
  return [...request.map((line) => `> ${line}`), ...answer.map((line) => `< ${line}`)]
    .map((line) => line.trimEnd())
    .join("\n");
}

function fieldsOf(headers: Headers): string[] {
  return Object.entries(headers)
    .filter(([name]) => SAYING.test(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, value]) => [
      `${name}: ${value}`,
      ...(name === "grpc-status-details-bin" ? [statusOf(value)] : []),
    ]);
}

/** What `grpc-status-details-bin` holds. */
function statusOf(base64: string): string {
  const { code, message, details } = fromBinary(StatusSchema, Buffer.from(base64, "base64"));
  const shown = { code, message, details: details.map(({ typeUrl, value }) => readDetail(typeUrl, value)) };
  return `  ≙ ${JSON.stringify(shown)}`;
}

function bodyOf(headers: Headers, body: Buffer, schema: DescMessage): string[] {
  if (body.length === 0) return [];
  if (body.length > MAX_SHOWN_BYTES) return ["", `(${body.length} bytes)`];
  const type = headers["content-type"] ?? "";
  if (/^application\/(grpc|connect)/.test(type)) return ["", ...framesOf(type, body, schema)];
  if (type === "application/proto") return ["", ...hexOf(body), jsonOf(schema, body)];
  return ["", ...body.toString().replace(/\n$/, "").split("\n")];
}

function framesOf(type: string, body: Buffer, schema: DescMessage): string[] {
  return envelopesIn(body).flatMap(({ flags, data }) => {
    const head = `[flags ${flags}, ${data.length} bytes]`;
    if ((flags & 0x80) !== 0) return [head, ...webTrailersOf(data)];
    if (flags === 2 || type.endsWith("+json")) return [head, data.toString()];
    return [head, ...hexOf(data), jsonOf(schema, data)];
  });
}

/** The last frame of gRPC-Web: header fields as text. */
function webTrailersOf(data: Buffer): string[] {
  const lines = data
    .toString()
    .split("\r\n")
    .filter((line) => line !== "");
  return lines.flatMap((line) => {
    const [name = "", value = ""] = line.split(": ");
    return name.toLowerCase() === "grpc-status-details-bin" ? [line, statusOf(value)] : [line];
  });
}

function hexOf(bytes: Buffer): string[] {
  return bytes.toString("hex").match(new RegExp(`.{1,${HEX_COLUMNS}}`, "g")) ?? ["(empty)"];
}

function jsonOf(schema: DescMessage, bytes: Buffer): string {
  try {
    return `  ≙ ${JSON.stringify(toJson(schema, fromBinary(schema, bytes)))}`;
  } catch {
    return "  ≙ (unreadable)";
  }
}
