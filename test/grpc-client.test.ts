import { create, type Message } from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { A2AError } from "../src/a2a/errors.js";
import {
  GetTaskRequestSchema,
  Role,
  SendMessageRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  type Task,
} from "../src/a2a/types.js";
import { createGrpcClient, type GrpcClient, type GrpcClientOptions } from "../src/bindings/grpc/client.js";
import { callError } from "../src/client/outcome.js";
import { fakeHandler } from "./support/fake-handler.js";
import { type GrpcHost, serviceDefinition, startGrpc } from "./support/grpc.js";
import { eventually } from "./support/host.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
async function start(...args: Parameters<typeof startGrpc>): Promise<GrpcHost> {
  const host = await startGrpc(...args);
  closers.push(host.close);
  return host;
}
function connect(
  url: string,
  protocol: GrpcClientOptions["protocol"],
  options: Partial<GrpcClientOptions> = {},
): GrpcClient {
  const client = createGrpcClient({ url, protocol, ...options });
  closers.push(client.close);
  return client;
}

const saying = (text: string) =>
  create(SendMessageRequestSchema, {
    message: { messageId: "m1", role: Role.USER, parts: [{ content: { case: "text", value: text } }] },
  });
const getTask = (id: string) => create(GetTaskRequestSchema, { id });
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => Promise.reject(new Error("it succeeded")),
    (error: unknown) => error,
  );

describe.each(["grpc", "grpc-web", "connect"] as const)("our client over %s", (protocol) => {
  it("a request that is too large is the caller's fault, an answer that is too large the agent's", async () => {
    const { origin } = await start();
    const { handler } = connect(origin, protocol, { maxMessageBytes: 500 });
    expect(callError(await failure(handler.sendMessage(saying("x".repeat(2_000_000)), {})))).toMatchObject({
      reason: "REQUEST_TOO_LARGE",
      message: "The request is too large",
      outcome: "not-sent",
    });
    expect(callError(await failure(handler.sendMessage(saying("x".repeat(1_000)), {})))).toMatchObject({
      reason: "INVALID_AGENT_RESPONSE",
      message: "The answer is larger than 500 bytes",
      outcome: "unknown",
    });
  });

  it("sends, streams, and says who it is, what it speaks and where it stands", async () => {
    const { address, handler } = await start();
    const client = connect(protocol === "grpc" ? address : `http://${address}`, protocol, {
      headers: () => ({ "a2a-trace": "t1" }),
    });
    const sent = await client.handler.sendMessage(saying("a"), { extensions: ["urn:x", "urn:y"], tenant: "acme" });
    expect(sent.payload.value?.$typeName).toBe("lf.a2a.v1.Task");
    expect(handler.calls[0]?.call).toMatchObject({
      tenant: "acme",
      extensions: ["urn:x", "urn:y"],
      parameters: { "a2a-version": "1.0", "a2a-trace": "t1" },
    });

    const events: StreamResponse[] = [];
    for await (const event of client.handler.subscribeToTask(create(SubscribeToTaskRequestSchema, { id: "a" }), {
      after: "2",
    }))
      events.push(event);
    expect(handler.calls[1]?.call.after).toBe("2");
    expect(events.map(({ payload }) => payload.case)).toEqual(["artifactUpdate", "statusUpdate"]);
  });

  it("gives typed errors back, with their violations, metadata and cause", async () => {
    const { origin } = await start();
    const { handler } = connect(origin, protocol);
    const missing = await failure(handler.getTask(getTask("none"), {}));
    expect(missing).toBeInstanceOf(A2AError);
    expect(missing).toMatchObject({
      reason: "TASK_NOT_FOUND",
      message: "Task not found",
      cause: { name: "ConnectError" },
    });
    const invalid = (await failure(handler.sendMessage(create(SendMessageRequestSchema), {}))) as A2AError;
    expect(invalid.reason).toBe("INVALID_PARAMS");
    expect(invalid.violations).toMatchObject([{ path: "message", rule: "REQUIRED" }]);
    const quota = (await failure(handler.sendMessage(saying("refuse:QUOTA_EXHAUSTED"), {}))) as A2AError;
    expect(quota).toMatchObject({
      reason: "QUOTA_EXHAUSTED",
      message: "A quota is exhausted; retry later",
      metadata: { retryAfterMs: "1500" },
    });
    const early = handler.sendStreamingMessage(saying("fail"), {})[Symbol.asyncIterator]();
    expect(await failure(early.next())).toMatchObject({
      reason: "INTERNAL",
      metadata: { correlationId: expect.any(String) },
    });
    const seen: unknown[] = [];
    const late = async () => {
      for await (const event of handler.sendStreamingMessage(saying("late-fail"), {})) seen.push(event);
    };
    expect(await failure(late())).toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
    expect(seen).toHaveLength(3);
  });

  it("an abort rejects with the signal's reason, and the server's handler is told", async () => {
    const { origin, handler: fake, errors } = await start();
    const { handler } = connect(origin, protocol);
    const unary = new AbortController();
    const waiting = failure(handler.sendMessage(saying("hold"), { signal: unary.signal }));
    await eventually(() => fake.open.waits === 1);
    unary.abort(new Error("enough"));
    expect(await waiting).toBe(unary.signal.reason);
    expect(await failure(handler.getTask(getTask("a"), { signal: unary.signal }))).toBe(unary.signal.reason);

    const stream = new AbortController();
    const iterator = handler.sendStreamingMessage(saying("hold"), { signal: stream.signal })[Symbol.asyncIterator]();
    await iterator.next();
    await eventually(() => fake.open.waits === 1 && fake.open.streams === 1);
    stream.abort(new Error("enough"));
    for (
      let step = await iterator.next().catch((error) => error);
      ;
      step = await iterator.next().catch((error) => error)
    ) {
      if (step.done === undefined) {
        expect(step).toBe(stream.signal.reason);
        break;
      }
      expect(step.done).toBe(false);
    }
    await eventually(() => fake.open.streams === 0 && fake.open.waits === 0);
    expect(errors).toEqual([]);
  });

  it("a stream that is left ends on the server, a thousand times, without an unhandled rejection", {
    timeout: 60_000,
  }, async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    closers.push(() => process.off("unhandledRejection", note));
    const { origin, handler: fake, errors } = await start();
    const { handler } = connect(origin, protocol);
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const controller = new AbortController();
          const stream = handler.sendStreamingMessage(saying("hold"), { signal: controller.signal });
          if (index % 3 === 0) for await (const _event of stream) break;
          else if (index % 3 === 1) {
            const iterator = stream[Symbol.asyncIterator]();
            await iterator.next();
            controller.abort();
          } else {
            const iterator = stream[Symbol.asyncIterator]();
            const first = iterator.next().catch(() => undefined);
            await iterator.return?.();
            await first;
          }
        }),
      );
    }
    await eventually(() => fake.open.streams === 0 && fake.open.waits === 0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("a megabyte that is too much for the server is refused, and the next call goes through", async () => {
    const { origin } = await start();
    const { handler } = connect(origin, protocol);
    const refusal = await failure(handler.sendMessage(saying("x".repeat(3_000_000)), {}));
    expect(refusal).toBeInstanceOf(A2AError);
    expect((await handler.sendMessage(saying("ok"), {})).payload.case).toBe("task");
  });

  it("nobody there is a typed error whose cause says so", async () => {
    const { origin, close } = await startGrpc();
    await close();
    const refusal = await failure(connect(origin, protocol).handler.getTask(getTask("a"), {}));
    expect(refusal).toMatchObject({ reason: "UNAVAILABLE", cause: { cause: { code: "ECONNREFUSED" } } });
  });
});

describe("our client and a gRPC server of another implementation", () => {
  async function foreign(methods: Record<string, (call: never, done: never) => void>): Promise<string> {
    const server = new Server();
    server.addService(serviceDefinition(), methods as never);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    closers.push(() => server.forceShutdown());
    return `localhost:${port}`;
  }

  it("understand each other, errors without details too", async () => {
    const url = await foreign({
      getTask: ({ request }: ServerUnaryCall<Message & { id: string }, Message>, done: sendUnaryData<unknown>) => {
        if (request.id === "there")
          done(null, { $typeName: "lf.a2a.v1.Task", id: "there", artifacts: [], history: [], contextId: "" });
        else if (request.id === "large")
          done({ code: status.RESOURCE_EXHAUSTED, details: "Received message larger than max (9 vs. 4)" });
        else done({ code: Number(request.id), details: "no: details" });
      },
      subscribeToTask: (call: ServerWritableStream<Message, Message>) => {
        call.write({
          $typeName: "lf.a2a.v1.StreamResponse",
          payload: {
            case: "task",
            value: { $typeName: "lf.a2a.v1.Task", id: "t", artifacts: [], history: [], contextId: "" },
          },
        } as never);
        call.end();
      },
    });
    const { handler } = connect(url, "grpc");
    expect(((await handler.getTask(getTask("there"), {})) as Task).id).toBe("there");
    for (const [code, reason] of [
      [status.NOT_FOUND, "TASK_NOT_FOUND"],
      [status.INVALID_ARGUMENT, "INVALID_PARAMS"],
      [status.FAILED_PRECONDITION, "UNSUPPORTED_OPERATION"],
      [status.UNIMPLEMENTED, "METHOD_NOT_FOUND"],
      [status.UNAUTHENTICATED, "UNAUTHENTICATED"],
      [status.PERMISSION_DENIED, "PERMISSION_DENIED"],
      [status.UNAVAILABLE, "UNAVAILABLE"],
      [status.RESOURCE_EXHAUSTED, "QUOTA_EXHAUSTED"],
      [status.UNKNOWN, "INTERNAL"],
    ] as const) {
      expect(await failure(handler.getTask(getTask(String(code)), {}))).toMatchObject({
        reason,
        message: "no: details",
      });
    }
    expect(await failure(handler.getTask(getTask("large"), {}))).toMatchObject({ reason: "REQUEST_TOO_LARGE" });
    const events: StreamResponse[] = [];
    for await (const event of handler.subscribeToTask(create(SubscribeToTaskRequestSchema, { id: "t" }), {}))
      events.push(event);
    expect(events).toHaveLength(1);
  });

  it("an answer that is no protobuf is an invalid response, not invalid parameters", async () => {
    const url = await foreign({
      getTask: (_call: never, done: never) => (done as sendUnaryData<unknown>)(null, Buffer.from([0xff, 0xff])),
    });
    const { handler } = connect(url, "grpc");
    expect(await failure(handler.getTask(getTask("a"), {}))).toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
  });
});

it("an address without a scheme is http on loopback and https elsewhere", async () => {
  const { address } = await start({ handler: fakeHandler() });
  const [, port] = address.split(":");
  expect(await failure(connect(`localhost:${port}`, "connect").handler.getTask(getTask("a"), {}))).toMatchObject({
    reason: "TASK_NOT_FOUND",
  });
  expect(() => createGrpcClient({ url: "not an address", protocol: "grpc" })).toThrow(TypeError);
});
