import { createServer as createHttp2Server, type Http2Session, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { type A2AError, agent, serve } from "nuncio";
import { connect } from "nuncio/client";
import { StreamResponseSchema, TaskSchema, TaskState } from "nuncio/types";
import { afterEach, describe, expect, test } from "vitest";
import { errorTable } from "../../src/a2a/errors.js";
import { createGrpcClient } from "../../src/bindings/grpc/client.js";
import { answerOf, ask, saying, tell, verdictOf } from "../support/asking.js";
import { enveloped, requestOf, rpcRequest, WIRES } from "../support/exchange.js";
import { served } from "../support/served.js";
import { BINDINGS, quiet } from "../support/small-agents.js";

const on = served({ limits: { bodyBytes: 4 * 1024 * 1024 } });

/** The module once more, as a second installed copy would be: other classes, the same brand. */
const copy = (await import(/* @vite-ignore */ `../../src/a2a/errors.js?${"copy"}`)) as { A2AError: typeof A2AError };
class OfTheirOwn extends copy.A2AError {}

describe("an agent that throws errors by name", () => {
  const thrower = agent({
    name: "Thrower",
    description: "Throws",
    handler: {
      getTask: async ({ id }) => {
        throw new OfTheirOwn(id);
      },
    },
  });
  const on = served({}, thrower);

  test.each(WIRES)(
    "M-04: an error of another copy of the package is itself over %s, not an internal one",
    async (wire) => {
      expect(new OfTheirOwn("HALTED")).not.toBeInstanceOf(Number);
      expect(verdictOf(await ask(on.url, wire, "GetTask", { id: "TASK_NOT_FOUND" }))).toBe("TASK_NOT_FOUND");
    },
  );

  test.each(WIRES)("M-03: each error of A2A has its code and its ErrorInfo over %s", async (wire) => {
    const grpcNames: Record<number, string> = {
      3: "invalid_argument",
      5: "not_found",
      9: "failed_precondition",
      13: "internal",
    };
    for (const [reason, row] of Object.entries(errorTable)) {
      if (!("domain" in row) || row.domain !== "a2a-protocol.org") continue;
      const outcome = await ask(on.url, wire, "GetTask", { id: reason });
      const code =
        { "JSON-RPC": row.jsonRpc, gRPC: row.grpc, "gRPC-Web": row.grpc, "HTTP+JSON": outcome.error?.code }[
          wire as string
        ] ?? grpcNames[row.grpc];
      expect([outcome.error?.reason, outcome.error?.domain, outcome.error?.code]).toEqual([reason, row.domain, code]);
      if (wire === "HTTP+JSON") expect(outcome.status).toBe(row.http);
    }
  });
});

describe.each(WIRES)("over %s", (wire) => {
  test("M-02: 1.2 MB is taken, and what is too large is REQUEST_TOO_LARGE on every wire, and no page of a framework", async () => {
    const file = (bytes: number) => ({ raw: Buffer.alloc(bytes, 7).toString("base64"), mediaType: "image/png" });
    const sending = (bytes: number) =>
      ask(on.url, wire, "SendMessage", saying("", { parts: [{ text: "Ada" }, file(bytes)] }));
    expect(verdictOf(await sending(1_200_000))).toBe("ok");
    expect(verdictOf(await sending(8_000_000))).toBe("REQUEST_TOO_LARGE");
    expect(verdictOf(await sending(10))).toBe("ok");
  });

  test("M-08: service parameters are read whatever the case of their names", async () => {
    const sent = requestOf(wire, "ListTasks", { pageSize: 1 });
    const { "a2a-version": version = "", ...headers } = sent.headers;
    const named = await tell(on.url, wire, "ListTasks", { ...sent, headers: { ...headers, "A2A-VERSION": version } });
    expect(verdictOf(named)).toBe("ok");
    const other = await tell(on.url, wire, "ListTasks", { ...sent, headers: { ...headers, "A2A-Version": "2.0" } });
    expect(verdictOf(other)).toBe("VERSION_NOT_SUPPORTED");
  });

  test("M-06, M-09: it is answered on the one port, by the same rules", async () => {
    const { task } = answerOf<{ task: { id: string } }>(await ask(on.url, wire, "SendMessage", saying("ask")));
    for (const other of WIRES)
      expect(answerOf<{ id: string }>(await ask(on.url, other, "GetTask", { id: task.id })).id).toBe(task.id);
    const wrong = await ask(on.url, wire, "GetTask", {});
    if (wire !== "HTTP+JSON") expect([verdictOf(wrong), wrong.error?.fields]).toEqual(["INVALID_PARAMS", ["id"]]);
  });
});

test.each(BINDINGS)(
  "M-07: two hundred aborts at any moment over %s leave no rejection unhandled",
  { timeout: 60_000 },
  async (binding) => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const peer = await connect(on.url, { bindings: [binding] });
    for (let round = 0; round < 4; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, n) => {
          const gone = new AbortController();
          const reading = (async () => {
            for await (const _ of peer.stream("ask", { signal: gone.signal })) if (n % 3 === 0) break;
          })();
          if (n % 3 === 1) gone.abort(new Error("gone"));
          else if (n % 3 === 2) setImmediate(() => gone.abort(new Error("gone")));
          await reading.catch(() => undefined);
        }),
      );
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    await peer[Symbol.asyncDispose]();
    expect(unhandled).toEqual([]);
  },
);

describe("a gRPC connection that goes away", () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });
  const handlerAt = (port: number, ping?: { intervalMs: number; timeoutMs: number }) => {
    const client = createGrpcClient({
      url: `127.0.0.1:${port}`,
      protocol: "grpc",
      ...(ping !== undefined && { ping }),
    });
    closing.push(() => client.close());
    return client.handler;
  };

  test("M-05: a stream that runs is finished after GOAWAY, and a new call goes over a new connection", async () => {
    const sessions: Http2Session[] = [];
    const streams: ServerHttp2Stream[] = [];
    const frame = (state: TaskState) =>
      enveloped(
        toBinary(
          StreamResponseSchema,
          create(StreamResponseSchema, { payload: { case: "task", value: { id: "t", status: { state } } } }),
        ),
      );
    const server = createHttp2Server();
    server.on("session", (session) => sessions.push(session));
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      if (headers[":path"]?.endsWith("GetTask"))
        return stream.end(enveloped(toBinary(TaskSchema, create(TaskSchema, { id: "t" }))));
      streams.push(stream);
      stream.write(frame(TaskState.WORKING));
    });
    const port = await listening(server);
    closing.push(() => {
      for (const session of sessions) session.destroy();
      server.close();
    });
    const handler = handlerAt(port);
    const events = handler.subscribeToTask({ id: "t" } as never, {})[Symbol.asyncIterator]();
    expect((await events.next()).value.payload.value.status.state).toBe(TaskState.WORKING);
    sessions[0]?.goaway();
    const [task] = await Promise.all([handler.getTask({ id: "t" } as never, {})]);
    expect([task.id, sessions.length]).toEqual(["t", 2]);
    streams[0]?.end(frame(TaskState.COMPLETED));
    expect((await events.next()).value.payload.value.status.state).toBe(TaskState.COMPLETED);
    expect((await events.next()).done).toBe(true);
  });

  test("M-05: a connection that died without a word is noticed by its pings, and the next call goes over a new one", async () => {
    await using server = await serve(agent({ name: "A", description: "A", reply: () => "x" }), quiet);
    const { proxy, fallSilent } = deafProxy(Number(new URL(server.url).port));
    const port = await listening(proxy);
    closing.push(() => proxy.close());
    const handler = handlerAt(port, { intervalMs: 50, timeoutMs: 250 });
    expect((await handler.listTasks({} as never, {})).totalSize).toBe(0);
    fallSilent();
    await expect(handler.listTasks({} as never, {})).rejects.toThrow();
    expect((await handler.listTasks({} as never, {})).totalSize).toBe(0);
  });
});

/** Passes bytes on until it is told to fall silent; connections that come later it passes on again. */
function deafProxy(target: number) {
  const pairs = new Set<readonly [Socket, Socket]>();
  const proxy = createServer((socket) => {
    const onward = connectTcp(target, "127.0.0.1");
    for (const one of [socket, onward]) one.on("error", () => undefined);
    socket.pipe(onward);
    onward.pipe(socket);
    pairs.add([socket, onward]);
    socket.on("close", () => onward.destroy());
  });
  const fallSilent = () => {
    for (const [one, other] of pairs) {
      one.unpipe(other);
      other.unpipe(one);
      one.resume();
      other.resume();
    }
  };
  return { proxy, fallSilent };
}

async function listening(server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
}): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

test("M-08: extensions may be one metadata entry or several", async () => {
  const entries = { "a2a-version": "1.0", "a2a-extensions": ["urn:a", "urn:b,urn:c"] } as never;
  const sent = rpcRequest("gRPC", "ListTasks", Buffer.alloc(0), entries);
  expect(verdictOf(await tell(on.url, "gRPC", "ListTasks", sent))).toBe("ok");
});
