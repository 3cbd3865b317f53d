import { create } from "@bufbuild/protobuf";
import { afterEach } from "vitest";
import type { Call } from "../../src/a2a/call.js";
import { A2AError } from "../../src/a2a/errors.js";
import type { Handler } from "../../src/a2a/handler.js";
import {
  GetTaskRequestSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
} from "../../src/a2a/types.js";
import type { WireClientOptions } from "../../src/bindings/client.js";
import { createHttpJsonClient } from "../../src/bindings/http-json/client.js";
import { createJsonRpcClient } from "../../src/bindings/jsonrpc/client.js";
import { startHost, type TestHost } from "./host.js";
import { type RawServer, startRawServer } from "./raw-server.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

export async function host(...args: Parameters<typeof startHost>): Promise<TestHost> {
  const server = await startHost(...args);
  closing.push(async () => {
    server.handler.letGo();
    await server.host.close();
  });
  return server;
}

export async function raw(...args: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...args);
  closing.push(server.close);
  return server;
}

export function say(text: string): SendMessageRequest {
  return create(SendMessageRequestSchema, {
    message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: text } }] },
  });
}

export async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

export async function failure(promise: Promise<unknown>): Promise<A2AError> {
  const error = await promise.then(
    () => new Error("it succeeded"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof A2AError)) throw error;
  return error;
}

export const getTask = (client: Handler, id = "t", call: Call = {}) =>
  client.getTask(create(GetTaskRequestSchema, { id }), call);
export const subscribe = (client: Handler, id = "t", call: Call = {}) =>
  client.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), call);

export const clients: [string, (options: WireClientOptions) => Handler][] = [
  ["JSON-RPC", createJsonRpcClient],
  ["HTTP+JSON", createHttpJsonClient],
];
