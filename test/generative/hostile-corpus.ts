import { type DescMessage, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import type { BindingName } from "nuncio/client";
import { A2AService } from "../../src/a2a/types.js";

/** A request before it is written: what mutations begin with. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** Tasks that are there, for requests about them. */
export interface Known {
  readonly open: string;
  readonly done: string;
}

type Method = keyof typeof A2AService.method;

const service = `/${A2AService.typeName}`;
const version = ["a2a-version", "1.0"] as const;

/** Valid requests of every operation, with what a message can hold. */
export function corpusOf(wire: BindingName, known: Known): readonly Request[] {
  return operations(known).flatMap(([key, json]) => requestsOf(wire, key, json));
}

function operations({ open, done }: Known): readonly (readonly [Method, JsonObject])[] {
  const parts = [
    { text: "ask ä😀" },
    { data: { a: [1, null, { b: "c" }], "": -1.5e-7 } },
    { raw: "AAEC/w==", mediaType: "image/png", filename: "f" },
    { url: "https://a.example/x", mediaType: "image/gif", metadata: { k: true } },
  ];
  const message = { messageId: "m-1", role: "ROLE_USER", parts };
  const configuration = { acceptedOutputModes: ["text/plain"], historyLength: 2 };
  return [
    ["sendMessage", { message, configuration, metadata: { x: [1] } }],
    [
      "sendMessage",
      { message: { ...message, messageId: "m-2", contextId: "c" }, configuration: { returnImmediately: true } },
    ],
    ["sendMessage", { message: { ...message, taskId: open, referenceTaskIds: [done] } }],
    ["sendStreamingMessage", { message: { ...message, messageId: "m-3" } }],
    ["getTask", { id: done, historyLength: 3 }],
    [
      "listTasks",
      {
        contextId: "c",
        status: "TASK_STATE_WORKING",
        pageSize: 3,
        includeArtifacts: true,
        statusTimestampAfter: "2026-01-01T00:00:00Z",
      },
    ],
    ["cancelTask", { id: done, metadata: { why: "so" } }],
    ["subscribeToTask", { id: open }],
    ["getExtendedAgentCard", {}],
    [
      "createTaskPushNotificationConfig",
      { taskId: open, id: "p", url: "https://a.example/hook", authentication: { scheme: "Bearer" } },
    ],
    ["getTaskPushNotificationConfig", { taskId: open, id: "p" }],
    ["listTaskPushNotificationConfigs", { taskId: open, pageSize: 2 }],
    ["deleteTaskPushNotificationConfig", { taskId: open, id: "p" }],
  ];
}

function requestsOf(wire: BindingName, key: Method, json: JsonObject): readonly Request[] {
  const { name, input, methodKind } = A2AService.method[key];
  const streams = methodKind === "server_streaming";
  const bytes = Buffer.from(toBinary<DescMessage>(input, fromJson<DescMessage>(input, json)));
  const text = Buffer.from(JSON.stringify(json));
  const path = `${service}/${name}`;
  switch (wire) {
    case "jsonrpc":
      return [
        post(
          "/a2a",
          "application/json",
          Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 7, method: name, params: json })),
        ),
      ];
    case "http-json":
      return [restRequest(key, json)];
    case "grpc":
      return [post(path, "application/grpc", enveloped(bytes), ["te", "trailers"])];
    case "grpc-web":
      return [
        post(path, "application/grpc-web+proto", enveloped(bytes)),
        post(path, "application/grpc-web+json", enveloped(text)),
      ];
    case "connect":
      return streams
        ? [
            post(path, "application/connect+proto", enveloped(bytes)),
            post(path, "application/connect+json", enveloped(text)),
          ]
        : [post(path, "application/proto", bytes), post(path, "application/json", text)];
  }
}

function post(path: string, type: string, body: Buffer, ...more: (readonly [string, string])[]): Request {
  return { method: "POST", path, headers: [["content-type", type], version, ...more], body };
}

function restRequest(key: Method, json: JsonObject): Request {
  const { id, taskId, ...rest } = json as Record<string, string>;
  const body = Buffer.from(JSON.stringify(rest));
  const query = new URLSearchParams(
    Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const get = (path: string): Request => ({
    method: "GET",
    path: `/a2a${path}?${query}`,
    headers: [version],
    body: Buffer.alloc(0),
  });
  const send = (path: string) => post(`/a2a${path}`, "application/a2a+json", body);
  const configs = `/tasks/${taskId}/pushNotificationConfigs`;
  switch (key) {
    case "sendMessage":
      return send("/message:send");
    case "sendStreamingMessage":
      return send("/message:stream");
    case "cancelTask":
      return send(`/tasks/${id}:cancel`);
    case "subscribeToTask":
      return get(`/tasks/${id}:subscribe`);
    case "getTask":
      return get(`/tasks/${id}`);
    case "listTasks":
      return get("/tasks");
    case "getExtendedAgentCard":
      return get("/extendedAgentCard");
    case "createTaskPushNotificationConfig":
      return send(configs);
    case "listTaskPushNotificationConfigs":
      return get(configs);
    case "getTaskPushNotificationConfig":
      return get(`${configs}/${id}`);
    case "deleteTaskPushNotificationConfig":
      return { ...get(`${configs}/${id}`), method: "DELETE" };
  }
}

/** A message as gRPC, gRPC-Web and the streams of Connect frame it. */
export function enveloped(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
