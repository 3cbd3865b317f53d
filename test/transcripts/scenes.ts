import type { JsonObject } from "@bufbuild/protobuf";
import { errorTable } from "../../src/a2a/errors.js";
import {
  exchange,
  type Operation,
  type Received,
  requestOf,
  rpcRequest,
  type Sent,
  type Wire,
} from "../support/exchange.js";
import { outcomeOf } from "../support/outcome.js";
import type { Cast } from "./served.js";

/** One exchange that a transcript shows. */
export interface Scene {
  readonly title: string;
  readonly with: Exclude<keyof Cast, "close">;
  readonly operation: Operation;
  /** What is sent. May first do what has to be there, unseen. */
  send(on: Stagehand): Sent | Promise<Sent>;
}

/** What a scene may do unseen. */
export interface Stagehand {
  readonly wire: Wire;
  /** The request of this scene's operation. */
  request(request: JsonObject, headers?: Record<string, string>): Sent;
  /** Begins a task, and gives its id. */
  task(text: string, configuration?: JsonObject): Promise<string>;
}

const ann = { "x-user": "ann" };

let messages = 0;

function message(text: string, more: JsonObject = {}): JsonObject {
  return { message: { messageId: `m-${++messages}`, role: "ROLE_USER", parts: [{ text }], ...more } };
}

/** As ann, of the scripted agent. */
function scene(
  title: string,
  operation: Operation,
  send: (on: Stagehand) => JsonObject | Promise<JsonObject>,
  headers: Record<string, string> = {},
): Scene {
  return {
    title,
    with: "scripted",
    operation,
    send: async (on) => on.request(await send(on), { ...ann, ...headers }),
  };
}

const parts: JsonObject[] = [
  { text: "mirror" },
  { data: { list: [1, null, "x"], zero: 0, no: false, empty: "" }, metadata: { note: null } },
  { raw: "AAH+/w==", filename: "a.gif", mediaType: "image/gif" },
  { url: "https://files.example/b.png", mediaType: "image/png" },
];

const operations: readonly Scene[] = [
  scene("a task, waited for", "SendMessage", () => message("Ada")),
  scene("a task, not waited for", "SendMessage", () => ({
    ...message("keep-open"), // says nothing, so that nothing of it comes into the next scene
    configuration: { returnImmediately: true, historyLength: 0, acceptedOutputModes: ["text/plain"] },
  })),
  scene("a question", "SendMessage", () => message("ask Which city?")),
  scene("an answer to a question", "SendMessage", async ({ task }) =>
    message("complete thanks", { taskId: await task("ask Which city?") }),
  ),
  scene("a direct answer", "SendMessage", () => message("direct Hi there")),
  scene("parts of every kind", "SendMessage", () => message("", { parts })),
  scene("an extension that is activated", "SendMessage", () => message("facts"), {
    "a2a-extensions": "urn:nuncio:extension:resume:v1,https://unknown.example/1",
  }),
  scene("a task in chunks", "SendStreamingMessage", () => message("chunks a|b|c")),
  scene("a direct answer as the one event", "SendStreamingMessage", () => message("direct Hi there")),
  scene("a stream that ends at a question", "SendStreamingMessage", () => message("ask Which city?")),
  scene("a task that fails", "SendStreamingMessage", () => message("fail no room")),
  scene("events with their positions", "SendStreamingMessage", () => message("Ada"), {
    "a2a-extensions": "urn:nuncio:extension:resume:v1",
  }),
  scene("a task with its history", "GetTask", async ({ task }) => ({ id: await task("status a b c") })),
  scene("a task with one message of its history", "GetTask", async ({ task }) => ({
    id: await task("status a b c"),
    historyLength: 1,
  })),
  scene("tasks of a context", "ListTasks", async ({ task }) => {
    await task("Ada");
    return { contextId: "list", pageSize: 1, historyLength: 0 };
  }),
  scene("tasks with their artifacts, of a state, since a time", "ListTasks", async ({ task }) => {
    await task("complete done");
    return {
      contextId: "list",
      status: "TASK_STATE_COMPLETED",
      includeArtifacts: true,
      pageSize: 1,
      statusTimestampAfter: "2026-01-02T03:04:05.678Z",
    };
  }),
  scene("no tasks", "ListTasks", () => ({ contextId: "nobody's" })),
  scene("a parked task", "CancelTask", async ({ task }) => ({ id: await task("ask"), metadata: { why: "late" } })),
  scene("everything after a position", "SubscribeToTask", async ({ task }) => ({ id: await task("chunks a|b") }), {
    "last-event-id": "3",
  }),
  scene("the extended card", "GetExtendedAgentCard", () => ({})),
];

const configs: readonly Scene[] = [
  byHand("a webhook", "CreateTaskPushNotificationConfig", {
    taskId: "t",
    url: "https://hook.example/",
    token: "tok",
    authentication: { scheme: "Bearer", credentials: "c" },
  }),
  byHand("a webhook", "GetTaskPushNotificationConfig", { taskId: "t", id: "made" }),
  byHand("all webhooks of a task", "ListTaskPushNotificationConfigs", { taskId: "t", pageSize: 10 }),
  byHand("a webhook", "DeleteTaskPushNotificationConfig", { taskId: "t", id: "made" }),
];

/** Refusals as they come about, then every reason there is. */
const refusals: readonly Scene[] = [
  scene("no such task", "GetTask", () => ({ id: "nope" })),
  scene("a task that has ended", "CancelTask", async ({ task }) => ({ id: await task("Ada") })),
  scene("a task that has ended", "SubscribeToTask", async ({ task }) => ({ id: await task("Ada") })),
  scene("a task that has ended", "SendMessage", async ({ task }) => message("x", { taskId: await task("Ada") })),
  scene("no such task", "SendStreamingMessage", () => message("x", { taskId: "nope" })),
  scene("webhooks aren't offered", "CreateTaskPushNotificationConfig", () => ({
    taskId: "t",
    url: "https://hook.example/",
  })),
  scene("a file that the agent doesn't take", "SendMessage", () =>
    message("", { parts: [{ url: "https://a.example/v", mediaType: "video/mp4" }] }),
  ),
  scene("a message with nothing in it", "SendMessage", () => ({ message: { parts: [{}], role: "ROLE_UNSPECIFIED" } })),
  scene("a list that asks for too much", "ListTasks", () => ({ pageSize: 150, historyLength: -5, pageToken: "%%" })),
  scene("another version", "SendMessage", () => message("x"), { "a2a-version": "2.0" }),
  scene("a body that is too large", "SendMessage", () => message("x".repeat(5_000))),
  {
    title: "who doesn't say who it is",
    with: "scripted",
    operation: "GetTask",
    send: ({ request }) => request({ id: "nope" }),
  },
  scene("webhooks aren't offered, and the request isn't whole", "CreateTaskPushNotificationConfig", () => ({
    taskId: "t",
  })),
  {
    title: "an agent that doesn't stream",
    with: "strict",
    operation: "SubscribeToTask",
    send: ({ request }) => request({ id: "t" }, { "a2a-extensions": "https://x.example/strict/v1" }),
  },
  { title: "a required extension", with: "strict", operation: "GetTask", send: ({ request }) => request({ id: "t" }) },
  byHand("an agent that fails after its first event", "SubscribeToTask", { id: "t" }),
  byHand("a failure that nobody foresaw", "GetTask", { id: "unforeseen" }),
  byHand("an operation that the agent doesn't have", "ListTasks", {}),
  ...Object.keys(errorTable).map((reason) => byHand(reason, "GetTask", { id: reason })),
];

function byHand(title: string, operation: Operation, request: JsonObject): Scene {
  return { title, with: "byHand", operation, send: (on) => on.request(request) };
}

/** What is no request at all, and is something else on each wire. */
function broken(wire: Wire): Scene[] {
  const scenes = (sent: readonly [title: string, sent: Sent][]): Scene[] =>
    sent.map(([title, sent]) => ({ title, with: "scripted", operation: "GetTask", send: () => sent }));
  const headers = { ...ann, "a2a-version": "1.0" };
  const post = (path: string, type: string, body: string, more = {}): Sent => ({
    method: "POST",
    path,
    headers: { "content-type": type, ...headers, ...more },
    body: Buffer.from(body),
  });
  const service = "/lf.a2a.v1.A2AService";
  switch (wire) {
    case "JSON-RPC": {
      const rpc = (body: string) => post("/a2a", "application/json", body);
      return scenes([
        ["no JSON", rpc('{"jsonrpc":')],
        ["a batch", rpc('[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]')],
        ["a notification", rpc('{"jsonrpc":"2.0","method":"ListTasks"}')],
        ["a method that isn't there", rpc('{"jsonrpc":"2.0","id":"a","method":"message/send"}')],
        ["params that are no object", rpc('{"jsonrpc":"2.0","id":"a","method":"GetTask","params":["x"]}')],
        ["no JSON by its content type", post("/a2a", "text/plain", "{}")],
        ["another HTTP method", { method: "GET", path: "/a2a", headers, body: Buffer.alloc(0) }],
      ]);
    }
    case "HTTP+JSON":
      return scenes([
        ["no JSON", post("/a2a/message:send", "application/a2a+json", '{"message":')],
        ["no JSON by its content type", post("/a2a/message:send", "text/plain", "{}")],
        ["a path that isn't there", { method: "GET", path: "/a2a/tasks/t:pause", headers, body: Buffer.alloc(0) }],
        ["another HTTP method", { method: "DELETE", path: "/a2a/tasks/t", headers, body: Buffer.alloc(0) }],
        [
          "query parameters that say nothing",
          {
            method: "GET",
            path: "/a2a/tasks?pageSize=abc&includeArtifacts=True&status=TASK_STATE_RUNNING&statusTimestampAfter=today",
            headers,
            body: Buffer.alloc(0),
          },
        ],
        [
          "who likes application/json better",
          {
            method: "GET",
            path: "/a2a/tasks/nope",
            headers: { ...headers, accept: "application/json" },
            body: Buffer.alloc(0),
          },
        ],
      ]);
    case "Connect JSON":
      return scenes([
        ["no JSON", post(`${service}/GetTask`, "application/json", '{"id":', { "connect-protocol-version": "1" })],
      ]);
    default:
      return scenes([
        ["bytes that are no protobuf", rpcRequest(wire, "GetTask", Buffer.from([0x0a, 0xff, 0x01]), headers)],
        [
          "a method that isn't there",
          { ...rpcRequest(wire, "GetTask", Buffer.alloc(0), headers), path: `${service}/PauseTask` },
        ],
      ]);
  }
}

/** What a wire's transcript shows, in order. */
export function scenesOf(wire: Wire): Scene[] {
  messages = 0; // each wire sends the same
  return [...operations, ...configs, ...broken(wire), ...refusals];
}

/** Plays one scene. */
export async function play(scene: Scene, wire: Wire, cast: Cast): Promise<{ sent: Sent; received: Received }> {
  const { url } = cast[scene.with];
  const sent = await scene.send({
    wire,
    request: (request, headers) => requestOf(wire, scene.operation, request, headers),
    async task(text, configuration = {}) {
      const request = { ...message(text, { contextId: "list" }), configuration };
      const received = await exchange(url, wire, requestOf(wire, "SendMessage", request, ann));
      const [answer] = outcomeOf(wire, "SendMessage", received).messages as { task: { id: string } }[];
      if (answer === undefined) throw new Error(`No task for ${text}`);
      return answer.task.id;
    },
  });
  return { sent, received: await exchange(url, wire, sent) };
}
