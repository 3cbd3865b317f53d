import { connect as connectTcp, type Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.js";
import type { ProtocolVersion } from "../../src/a2a/protocol-version.js";
import { v1 } from "../../src/a2a/v1.js";
import type { BindingContext } from "../../src/bindings/binding.js";
import { createHttpJsonBinding } from "../../src/bindings/http-json/server.js";
import { createJsonRpcBinding } from "../../src/bindings/jsonrpc/server.js";
import { createHost, type Host, type HostOptions } from "../../src/hosts/host.js";
import { testContext } from "./binding-context.js";
import type { FakeHandler } from "./fake-handler.js";

export interface TestHost {
  readonly host: Host;
  readonly handler: FakeHandler;
  readonly port: number;
  /** Of the bindings. */
  readonly url: string;
  readonly origin: string;
  /** What was logged as an error. */
  readonly errors: object[];
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** One JSON-RPC call. */
  rpc(method: string, params?: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** A host with both JSON bindings on a fake Handler, listening on a free port of the loopback. */
export async function startHost(
  context: Partial<BindingContext> = {},
  options: Partial<HostOptions> = {},
): Promise<TestHost> {
  const { handler, errors, draining, shared } = testContext(context);
  const host = await createHost({
    path: "/a2a",
    jsonRpc: createJsonRpcBinding(shared),
    httpJson: createHttpJsonBinding(shared),
    card: (agent) =>
      agent === undefined || agent === "echo" ? JSON.stringify({ name: agent ?? "default" }) : undefined,
    agents: () => [{ name: "echo", card: "http://echo.example/card" }],
    draining,
    runtime: shared.runtime,
    logger: shared.logger,
    maxBodyBytes: shared.maxBodyBytes,
    ...options,
  });
  const { port } = await host.listen({ port: 0, host: "127.0.0.1" });
  const origin = `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  const url = `${origin}/a2a`;
  const send = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    fetch(`${url}${path}`, {
      method,
      headers: { "a2a-version": "1.0", ...headers },
      ...(body !== undefined && {
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    });
  return {
    host,
    handler,
    port,
    url,
    origin,
    errors,
    post: (path, body, headers = {}) => send("POST", path, { "content-type": "application/json", ...headers }, body),
    get: (path, headers = {}) => send("GET", path, headers),
    rpc: (method, params, headers = {}) =>
      send("POST", "", { "content-type": "application/json", ...headers }, { jsonrpc: "2.0", id: 7, method, params }),
  };
}

/** Another version of the protocol, with one operation that is called otherwise and lies elsewhere. */
export const otherVersion: ProtocolVersion = {
  ...v1,
  id: "9.1",
  operations: v1.operations
    .filter(({ key }) => key === "listTasks")
    .map((operation) => ({
      ...operation,
      name: "EnumerateTasks",
      rules: [create(HttpRuleSchema, { pattern: { case: "get", value: "/v9/tasks" } })],
    })),
};

/** A SendMessageRequest that says `text`. */
export function saying(text: string): { message: object } {
  return { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text }] } };
}

/** A socket that keeps what it reads. */
export interface RawConnection {
  readonly socket: Socket;
  text(): string;
  /** Resolves when what was read contains `wanted`; rejects when the connection closes before. */
  until(wanted: string): Promise<string>;
  readonly closed: Promise<void>;
}

/** Connects and writes, byte by byte as given. */
export function connectRaw(port: number, first: string | Buffer = ""): RawConnection {
  const socket = connectTcp({ port, host: "127.0.0.1", allowHalfOpen: true });
  let read = "";
  const changed = new Set<() => void>();
  const tell = () => {
    for (const look of changed) look();
  };
  socket.on("data", (chunk: Buffer) => {
    read += chunk.toString("latin1");
    tell();
  });
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.on("end", () => {
      tell();
      resolve();
    });
    socket.on("close", () => {
      tell();
      resolve();
    });
  });
  if (first.length > 0) socket.write(first);
  return {
    socket,
    text: () => read,
    closed,
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (read.includes(wanted)) resolve(read);
          else if (socket.destroyed || socket.readableEnded)
            reject(new Error(`closed before ${JSON.stringify(wanted)}: ${read}`));
          else return;
          changed.delete(look);
        };
        changed.add(look);
        look();
      }),
  };
}

/** Looks again in each turn of the event loop until it is so. The test's time limit bounds it. */
export async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
