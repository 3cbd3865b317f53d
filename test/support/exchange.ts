import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect as http2Connect } from "node:http2";
import { fromJson, type JsonObject, type Message, toBinary } from "@bufbuild/protobuf";
import { A2AService } from "../../src/a2a/types.js";

/** A wire as its bytes are: no client of ours stands between the test and the server. */
export type Wire = "JSON-RPC" | "HTTP+JSON" | "gRPC" | "gRPC-Web" | "Connect" | "Connect JSON";
export const WIRES: readonly Wire[] = ["JSON-RPC", "HTTP+JSON", "gRPC", "gRPC-Web", "Connect", "Connect JSON"];
/** Those that carry the request as JSON, so that what no message can say can be said. */
export const JSON_WIRES: readonly Wire[] = ["JSON-RPC", "HTTP+JSON", "Connect JSON"];

/** The operations, by their name in the contract. */
export type Operation = (typeof A2AService.methods)[number]["name"];
export type Headers = Readonly<Record<string, string>>;

/** A request as it goes out. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** An answer as it came in, whole. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly trailers: Headers;
}

/** A length-prefixed message of gRPC, gRPC-Web or Connect. */
export interface Envelope {
  readonly flags: number;
  readonly data: Buffer;
}

const SERVICE = `/${A2AService.typeName}`;

/** A request of an operation, as this wire has it (§5.3). `request` is ProtoJSON; on a binary wire what no message can say is dropped. */
export function requestOf(wire: Wire, operation: Operation, request: JsonObject, headers: Headers = {}): Sent {
  const always = { "a2a-version": "1.0", ...headers };
  if (wire === "HTTP+JSON") return restRequest(operation, request, always);
  if (wire === "JSON-RPC") {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: operation, params: request });
    return post("/a2a", { "content-type": "application/json", ...always }, body);
  }
  const body = wire === "Connect JSON" ? JSON.stringify(request) : binaryOf(operation, request);
  return rpcRequest(wire, operation, Buffer.from(body), always);
}

/** A request of gRPC, gRPC-Web or Connect whose message is these bytes. */
export function rpcRequest(wire: Wire, operation: Operation, message: Buffer, headers: Headers): Sent {
  const streams = methodNamed(operation).methodKind === "server_streaming";
  const path = `${SERVICE}/${operation}`;
  switch (wire) {
    case "gRPC":
      return post(path, { "content-type": "application/grpc", te: "trailers", ...headers }, enveloped(message));
    case "gRPC-Web":
      return post(path, { "content-type": "application/grpc-web+proto", ...headers }, enveloped(message));
    default: {
      const kind = wire === "Connect" ? "proto" : "json";
      const type = `application/${streams ? `connect+${kind}` : kind}`;
      const all = { "content-type": type, "connect-protocol-version": "1", ...headers };
      return post(path, all, streams ? enveloped(message) : message);
    }
  }
}

/** The bytes of a request that is given as ProtoJSON. @throws what protobuf-es throws for what no message can say. */
export function binaryOf(operation: Operation, request: JsonObject): Uint8Array {
  const { input } = methodNamed(operation);
  return toBinary(input, fromJson(input, request, { ignoreUnknownFields: true }) as Message);
}

export function methodNamed(operation: Operation) {
  const method = A2AService.methods.find(({ name }) => name === operation);
  if (method === undefined) throw new Error(`There is no ${operation}`);
  return method;
}

/** §5.3 and §11.3, written out. */
function restRequest(operation: Operation, request: JsonObject, headers: Headers): Sent {
  const { tenant, id, taskId, ...rest } = request as Record<string, string>;
  const base = `/a2a${tenant === undefined ? "" : `/${encodeURIComponent(tenant)}`}`;
  const at = (value: string | undefined) => encodeURIComponent(value ?? "");
  const configs = `/tasks/${at(taskId)}/pushNotificationConfigs`;
  const get = (path: string, query: object = {}, method = "GET"): Sent => {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]) => [name, String(value)] as [string, string]),
    );
    return {
      method,
      path: `${base}${path}${search.size > 0 ? `?${search}` : ""}`,
      headers,
      body: Buffer.alloc(0),
    };
  };
  const send = (path: string, body: object) =>
    post(`${base}${path}`, { "content-type": "application/a2a+json", ...headers }, JSON.stringify(body));
  switch (operation) {
    case "SendMessage":
      return send("/message:send", rest);
    case "SendStreamingMessage":
      return send("/message:stream", rest);
    case "GetTask":
      return get(`/tasks/${at(id)}`, rest);
    case "ListTasks":
      return get("/tasks", rest);
    case "CancelTask":
      return send(`/tasks/${at(id)}:cancel`, rest);
    case "SubscribeToTask":
      return get(`/tasks/${at(id)}:subscribe`, rest, "POST");
    case "CreateTaskPushNotificationConfig":
      return send(configs, id === undefined ? rest : { id, ...rest });
    case "GetTaskPushNotificationConfig":
      return get(`${configs}/${at(id)}`, rest);
    case "ListTaskPushNotificationConfigs":
      return get(configs, rest);
    case "DeleteTaskPushNotificationConfig":
      return get(`${configs}/${at(id)}`, rest, "DELETE");
    case "GetExtendedAgentCard":
      return get("/extendedAgentCard", rest);
    default:
      throw new Error(`No route for ${operation}`);
  }
}

function post(path: string, headers: Headers, body: string | Uint8Array): Sent {
  return { method: "POST", path, headers, body: Buffer.from(body) };
}

/** One envelope. */
export function enveloped(data: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

/** @throws for bytes that are no whole envelopes. */
export function envelopesIn(body: Buffer): Envelope[] {
  const found: Envelope[] = [];
  for (let at = 0; at < body.length; ) {
    if (at + 5 > body.length) throw new Error("Half an envelope");
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.length) throw new Error("Half an envelope");
    found.push({ flags: body.readUInt8(at), data: body.subarray(at + 5, end) });
    at = end;
  }
  return found;
}

/** Sends a request and reads the answer to its end: gRPC over HTTP/2, everything else over HTTP/1.1. */
export function exchange(origin: string, wire: Wire, sent: Sent): Promise<Received> {
  return wire === "gRPC" ? overHttp2(origin, sent) : overHttp1(origin, sent);
}

function overHttp1(origin: string, { method, path, headers, body }: Sent): Promise<Received> {
  return new Promise((resolve, reject) => {
    const given = { ...headers, ...(body.length > 0 && { "content-length": String(body.length) }) };
    const request = httpRequest(`${origin}${path}`, { method, headers: given, agent: false }, (response) => {
      read(response).then(resolve, reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function read(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: plain(response.headers),
    body: Buffer.concat(chunks),
    trailers: plain(response.trailers),
  };
}

function overHttp2(origin: string, { method, path, headers, body }: Sent): Promise<Received> {
  return new Promise((resolve, reject) => {
    const session = http2Connect(origin);
    session.on("error", reject);
    const stream = session.request({ ":method": method, ":path": path, ...headers });
    const chunks: Buffer[] = [];
    let head: Headers = {};
    let trailers: Headers = {};
    stream.on("response", (given) => {
      head = plain(given);
    });
    stream.on("trailers", (given) => {
      trailers = plain(given);
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve({ status: Number(head[":status"]), headers: head, body: Buffer.concat(chunks), trailers });
    });
    stream.end(body);
  });
}

function plain(headers: object): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  );
}
