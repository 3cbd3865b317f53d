import { create, type Message } from "@bufbuild/protobuf";
import { ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { A2AError, errorTable, type Reason } from "../src/a2a/errors.js";
import type { Handler } from "../src/a2a/handler.js";
import {
  A2AService,
  GetTaskRequestSchema,
  PartSchema,
  Role,
  SendMessageRequestSchema,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
} from "../src/a2a/types.js";
import { fakeHandler } from "./support/fake-handler.js";
import { detailsOf, type GrpcHost, readAll, startGrpc } from "./support/grpc.js";
import { eventually } from "./support/host.js";

let host: GrpcHost | undefined;
afterEach(async () => {
  await host?.close();
  host = undefined;
});
async function start(...args: Parameters<typeof startGrpc>): Promise<GrpcHost> {
  host = await startGrpc(...args);
  return host;
}

const saying = (text: string) =>
  create(SendMessageRequestSchema, {
    message: { messageId: "m1", role: Role.USER, parts: [{ content: { case: "text", value: text } }] },
  });
const getTask = (id: string) => create(GetTaskRequestSchema, { id });
const metadata = (entries: Record<string, string | string[]>) => {
  const made = new Metadata();
  for (const [name, values] of Object.entries(entries)) for (const value of [values].flat()) made.add(name, value);
  return made;
};
const failure = (promise: Promise<unknown>): Promise<ServiceError> =>
  promise.then(
    () => Promise.reject(new Error("it succeeded")),
    (error: ServiceError) => error,
  );
const cases = (messages: readonly Message[]) =>
  messages.map((message) => (message as ReturnType<typeof create<typeof StreamResponseSchema>>).payload.case);

describe("a gRPC client of another implementation", () => {
  it("sends, gets and streams", async () => {
    const { client } = await start();
    const grpc = client();
    expect(await grpc.unary("sendMessage", saying("hello"))).toMatchObject({ payload: { value: { id: "hello" } } });
    expect(await grpc.unary("getTask", getTask("hello"))).toMatchObject({ id: "hello" });
    const { messages, error } = await readAll(grpc.stream("sendStreamingMessage", saying("count:3")));
    expect(error).toBeUndefined();
    expect(cases(messages)).toEqual(["task", "artifactUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
  });

  it("reaches all operations of the contract", async () => {
    const { client, handler } = await start();
    const grpc = client();
    for (const { localName, input, methodKind } of A2AService.methods) {
      const fields = Object.fromEntries(
        input.fields.filter(({ name }) => /^(id|task_id|url)$/.test(name)).map((field) => [field.localName, "hello"]),
      );
      const request = input === SendMessageRequestSchema ? saying("hello") : create(input, fields);
      if (methodKind === "unary") await grpc.unary(localName, request);
      else expect((await readAll(grpc.stream(localName, request))).error).toBeUndefined();
    }
    expect(handler.calls.map(({ name }) => name)).toEqual(A2AService.methods.map(({ localName }) => localName));
  });

  it("says in metadata which version it speaks, which extensions it activates, and where it stands", async () => {
    const { client, handler } = await start();
    const grpc = client();
    await grpc.unary(
      "sendMessage",
      saying("a"),
      metadata({ "A2A-Version": "1.0.7", "A2A-Extensions": ["urn:x, urn:y", "urn:z"] }),
    );
    expect(handler.calls[0]?.call).toMatchObject({
      extensions: ["urn:x", "urn:y", "urn:z"],
      parameters: { "a2a-version": "1.0.7" },
    });
    const { messages } = await readAll(
      grpc.stream(
        "subscribeToTask",
        create(SubscribeToTaskRequestSchema, { id: "a" }),
        metadata({ "last-event-id": "2" }),
      ),
    );
    expect(handler.calls[1]?.call.after).toBe("2");
    expect(cases(messages)).toEqual(["artifactUpdate", "statusUpdate"]);
  });

  it("is told which versions there are when it asks for another", async () => {
    const { client } = await start();
    const error = await failure(client().unary("getTask", getTask("a"), metadata({ "a2a-version": "2.0" })));
    expect(error.code).toBe(status.FAILED_PRECONDITION);
    expect(detailsOf(error).info).toMatchObject({
      reason: "VERSION_NOT_SUPPORTED",
      domain: "a2a-protocol.org",
      metadata: { supportedVersions: "1.0" },
    });
  });

  it("is asked who it is, with what the server takes, before anything else", async () => {
    const seen: { remoteAddress: string; token: string | null; path: string }[] = [];
    const { client, handler } = await start({
      authenticate: async ({ headers, remoteAddress, url }) => {
        seen.push({ remoteAddress, token: headers.get("authorization"), path: url.pathname });
        throw new A2AError("UNAUTHENTICATED");
      },
    });
    const error = await failure(client().unary("getTask", getTask(""), metadata({ authorization: "Bearer no" })));
    expect(error.code).toBe(status.UNAUTHENTICATED);
    expect(error.metadata.get("www-authenticate")).toEqual(['Bearer realm="test"']);
    expect(seen).toEqual([{ remoteAddress: "127.0.0.1", token: "Bearer no", path: "/lf.a2a.v1.A2AService/GetTask" }]);
    expect(handler.calls).toEqual([]);
  });
});

describe("errors", () => {
  it.each(Object.keys(errorTable) as Reason[])("%s has its code and its details", async (reason) => {
    const { client } = await start();
    const error = await failure(client().unary("sendMessage", saying(`refuse:${reason}`)));
    expect(error.code).toBe(errorTable[reason].grpc);
    expect(error.details).toBe(errorTable[reason].message);
    const row: { readonly message: string; readonly domain?: string } = errorTable[reason];
    const info = row.domain === undefined ? undefined : { reason, domain: row.domain };
    if (info === undefined) expect(detailsOf(error).info).toBeUndefined();
    else expect(detailsOf(error).info).toMatchObject(info);
  });

  it("everything that is wrong with a request comes at once, with paths", async () => {
    const { client } = await start();
    const request = create(SendMessageRequestSchema, { message: { role: 99 as Role, parts: [{}] } });
    const error = await failure(client().unary("sendMessage", request));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(detailsOf(error).badRequest?.fieldViolations.map(({ field, reason }) => `${field} ${reason}`)).toEqual([
      "message.role ENUM",
      "message.parts[0] ONEOF",
      "message.messageId REQUIRED",
    ]);
  });

  it("what nobody foresaw is an internal error with a correlation id, and its cause is in the log only", async () => {
    const { client, errors } = await start();
    for (const error of [
      await failure(client().unary("sendMessage", saying("fail"))),
      (await readAll(client().stream("sendStreamingMessage", saying("fail")))).error as ServiceError,
    ]) {
      expect(error.code).toBe(status.INTERNAL);
      expect(JSON.stringify([error.details, error.metadata.toJSON()])).not.toContain("postgres");
      const correlationId = detailsOf(error).info?.metadata.correlationId;
      expect(errors.shift()).toMatchObject({ correlationId, err: { message: expect.stringContaining("postgres") } });
    }
  });

  it("a failure in the middle of a stream comes after what was said", async () => {
    const { client } = await start();
    const { messages, error } = await readAll(client().stream("sendStreamingMessage", saying("late-fail")));
    expect(messages).toHaveLength(3);
    expect(detailsOf(error).info?.reason).toBe("INVALID_AGENT_RESPONSE");
  });

  it("a stream that says nothing is a failure of the agent", async () => {
    const { client } = await start();
    const { error } = await readAll(client().stream("sendStreamingMessage", saying("empty")));
    expect(detailsOf(error).info?.reason).toBe("INVALID_AGENT_RESPONSE");
  });

  it("errors of any length fit into what a peer reads", async () => {
    const violations = Array.from({ length: 100 }, (_, index) => ({
      path: `f${index}`,
      rule: "TYPE",
      description: "ü".repeat(200),
      section: "",
    }));
    const handler = {
      ...fakeHandler(),
      getTask: async () => Promise.reject(new A2AError("INVALID_PARAMS", `${"漢".repeat(900)}\ud800`, { violations })),
    };
    const { client } = await start({ handler });
    const error = await failure(client().unary("getTask", getTask("a")));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(error.details).toMatch(/^漢+…$/);
    const [bytes] = error.metadata.get("grpc-status-details-bin");
    expect(Math.ceil((bytes?.length ?? 0) / 3) * 4 + encodeURIComponent(error.details).length).toBeLessThan(8_000);
    expect(detailsOf(error).badRequest?.fieldViolations.length).toBeGreaterThan(3);
  });

  it("a request that is no protobuf, or too deep, is an invalid argument", async () => {
    const { client } = await start();
    const broken = { ...A2AService, methods: [{ ...A2AService.method.getTask, input: StreamResponseSchema }] };
    const garbage = create(StreamResponseSchema);
    garbage.$unknown = [{ no: 2, wireType: 2, data: new Uint8Array([100, 1]) }]; // says 100 bytes, and there is one
    const error = await failure(
      (host as GrpcHost).client(broken as unknown as typeof A2AService).unary("getTask", garbage),
    );
    expect([error.code, error.details]).toEqual([status.INVALID_ARGUMENT, expect.stringMatching(/^parse binary: /)]);

    let data = create(ValueSchema, { kind: { case: "boolValue", value: true } });
    for (let level = 0; level < 200; level++) {
      data = create(ValueSchema, { kind: { case: "listValue", value: create(ListValueSchema, { values: [data] }) } });
    }
    const deep = saying("");
    deep.message?.parts.push(create(PartSchema, { content: { case: "data", value: data } }));
    const refusal = await failure(client().unary("sendMessage", deep));
    expect(detailsOf(refusal).badRequest?.fieldViolations).toMatchObject([{ reason: "DEPTH" }]);
  });

  it("a request that is too large is RESOURCE_EXHAUSTED, a call of no method UNIMPLEMENTED", async () => {
    const { client } = await start();
    const grpc = client();
    const refusal = await failure(grpc.unary("sendMessage", saying("x".repeat(2_000_000))));
    expect([refusal.code, refusal.details]).toEqual([status.RESOURCE_EXHAUSTED, "The request is too large"]);
    expect(detailsOf(refusal).info).toMatchObject({ reason: "REQUEST_TOO_LARGE", domain: "nuncio" });
    expect(await grpc.unary("sendMessage", saying("still there"))).toBeDefined();
    const service = {
      ...A2AService,
      methods: [{ ...A2AService.method.getTask, name: "Nothing" }],
    } as typeof A2AService;
    const unknown = await failure((host as GrpcHost).client(service).unary("getTask", getTask("a")));
    expect([unknown.code, unknown.details]).toEqual([status.UNIMPLEMENTED, "There is no such method here"]);
  });
});

describe("whoever goes away", () => {
  it("after a deadline gets DEADLINE_EXCEEDED, and the handler is told", async () => {
    const { client, handler, errors } = await start();
    const error = await failure(
      client().unary("sendMessage", saying("hold"), new Metadata(), { deadline: Date.now() + 200 }),
    );
    expect(error.code).toBe(status.DEADLINE_EXCEEDED);
    await eventually(() => handler.open.waits === 0);
    expect(errors).toEqual([]);
  });

  it("a thousand cancelled streams leave nothing behind, and no unhandled rejection", { timeout: 60_000 }, async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const { client, handler, errors, draining } = await start();
      const grpc = client();
      for (let round = 0; round < 10; round++) {
        const streams = Array.from({ length: 100 }, () => grpc.stream("sendStreamingMessage", saying("hold")));
        await Promise.all(
          streams.map((stream, index) => {
            const ended = new Promise((resolve) => stream.on("error", resolve));
            // Not before the first message: then grpc-js forgets the call without telling the server.
            const cancel = () => stream.cancel();
            stream.once("data", index % 2 === 0 ? cancel : () => setImmediate(cancel));
            stream.resume();
            return ended;
          }),
        );
      }
      await eventually(() => handler.open.streams === 0 && handler.open.waits === 0);
      expect(listenersOf(draining.signal)).toBe(0);
      expect(errors).toEqual([]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  it("a handler that is deaf to the signal is let go all the same", async () => {
    let parked = 0;
    let returned = 0;
    const first = create(StreamResponseSchema, { payload: { case: "task", value: { id: "a" } } });
    const deaf: AsyncIterator<typeof first> = {
      next: () => (parked++ === 0 ? Promise.resolve({ value: first, done: false }) : new Promise(() => undefined)),
      return: async () => {
        returned++;
        return { value: undefined, done: true };
      },
    };
    const handler: Handler = { ...fakeHandler(), subscribeToTask: () => ({ [Symbol.asyncIterator]: () => deaf }) };
    const { client, draining } = await start({ handler });
    const stream = client().stream("subscribeToTask", create(SubscribeToTaskRequestSchema, { id: "a" }));
    stream.on("error", () => undefined).resume();
    await eventually(() => parked === 2);
    stream.cancel();
    await eventually(() => returned > 0 && listenersOf(draining.signal) === 0);
  });

  it("a reader who stalls holds the handler back, and frees it by leaving", async () => {
    const { client, handler } = await start();
    const stream = client().stream("sendStreamingMessage", saying(`big:${1_000_000}`));
    stream.on("error", () => undefined);
    await new Promise((resolve) => stream.once("readable", resolve));
    stream.cancel();
    await eventually(() => handler.open.streams === 0);
  });
});

it("a server that drains ends streams at a frame, and takes no more calls", async () => {
  const { client, draining, handler } = await start();
  const grpc = client();
  const stream = grpc.stream("sendStreamingMessage", saying("hold"));
  const reading = readAll(stream);
  await new Promise((resolve) => stream.once("readable", resolve));
  draining.abort();
  const { messages, error } = await reading;
  expect(messages.length).toBeGreaterThan(0);
  await eventually(() => handler.open.streams === 0 && handler.open.waits === 0);
  for (const refusal of [error, await failure(grpc.unary("getTask", getTask("a")))]) {
    expect((refusal as ServiceError).code).toBe(status.UNAVAILABLE);
    expect(detailsOf(refusal).info).toMatchObject({ reason: "DRAINING", domain: "nuncio" });
  }
});

/** How many listeners a signal has, as Node itself shows them. */
function listenersOf(signal: AbortSignal): number {
  const key = Object.getOwnPropertySymbols(signal).find((symbol) => symbol.description === "kEvents");
  const events = (signal as unknown as Record<symbol, Map<string, { size: number }>>)[key as symbol];
  return events?.get("abort")?.size ?? 0;
}
