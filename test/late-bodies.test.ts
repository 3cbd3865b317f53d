import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { inspect } from "node:util";
import { agent, type Server, serve } from "nuncio";
import { connect } from "nuncio/client";
import { afterEach, describe, expect, test } from "vitest";
import { quiet } from "./support/small-agents.js";
import { selfSigned } from "./support/tls.js";

const TIMEOUT_MS = 150;
/** Long enough for the time-out to come several times. */
const LONG_MS = 4 * TIMEOUT_MS;
const A_WHILE = () => new Promise((resolve) => setTimeout(resolve, LONG_MS));

const slow = agent({
  name: "Slow",
  description: "Takes its time",
  async *run(task) {
    yield task.artifact("first");
    await A_WHILE();
    yield task.artifact("last");
  },
});

let server: Server;
let session: ClientHttp2Session;
afterEach(async () => {
  session?.destroy();
  await server.close();
});

async function start(options: Parameters<typeof serve>[1] = {}): Promise<void> {
  server = await serve(slow, { ...quiet, drainMs: 500, limits: { requestTimeoutMs: TIMEOUT_MS }, ...options });
  session = connectHttp2(server.url, { rejectUnauthorized: false });
}

/** A request without its body, which the test sends, or doesn't. */
function post(path: string, type: string): ClientHttp2Stream {
  return session.request({ ":method": "POST", ":path": path, "content-type": type, "a2a-version": "1.0" });
}

async function answerTo(stream: ClientHttp2Stream) {
  let text = "";
  const headers: Record<string, unknown>[] = [];
  stream.on("response", (some) => headers.push(some));
  stream.on("trailers", (some) => headers.push(some));
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(stream, "close");
  return { headers: Object.assign({}, ...headers), text, code: stream.rstCode };
}

/** A gRPC message: not compressed, and so long. */
function grpcMessage(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

describe("over HTTP/2, a request whose body doesn't come", () => {
  test.each([
    ["/a2a/message:send", "application/a2a+json", undefined],
    ["/a2a", "application/json", undefined],
    ["/lf.a2a.v1.A2AService/SendMessage", "application/json", undefined],
    ["/a2a/message:send", "application/a2a+json", selfSigned],
  ])("is refused: %s %s", async (path, type, tls) => {
    await start({ tls });
    const stream = post(path, type);
    stream.write("{");
    const { headers, text, code } = await answerTo(stream);
    expect([headers[":status"], headers["content-type"]]).toEqual([408, "application/json"]);
    expect(JSON.parse(text)).toEqual({
      error: { code: 408, status: "DEADLINE_EXCEEDED", message: "The request took too long to arrive" },
    });
    expect(code).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("is refused in gRPC's words over gRPC, also where half of a message came", async () => {
    await start();
    for (const bytes of [Buffer.alloc(0), grpcMessage(Buffer.alloc(100)).subarray(0, 50)]) {
      const stream = post("/lf.a2a.v1.A2AService/SendMessage", "application/grpc");
      stream.write(bytes);
      const { headers, code } = await answerTo(stream);
      expect(headers).toMatchObject({ ":status": 200, "grpc-status": "4" });
      expect(code).toBe(constants.NGHTTP2_NO_ERROR);
    }
  });

  test("doesn't keep its stream by refusing to read the refusal", async () => {
    await start();
    session.destroy();
    session = connectHttp2(server.url, { settings: { initialWindowSize: 0 } });
    const stream = post("/a2a", "application/json");
    stream.on("error", () => undefined).write("{");
    await once(stream.resume(), "close"); // else the test runs out of time
  });

  test("is refused as well where it comes drop by drop", async () => {
    await start();
    const stream = post("/a2a", "application/json");
    const sending = setInterval(() => stream.closed || stream.write(" "), 20);
    expect((await answerTo(stream)).headers[":status"]).toBe(408);
    clearInterval(sending);
  });

  test("costs its connection nothing: the next request is answered", async () => {
    await start();
    await answerTo(post("/a2a", "application/json"));
    const next = post("/a2a", "application/json");
    next.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" }));
    expect((await answerTo(next)).headers[":status"]).toBe(200);
  });
});

describe("an answer outlives the time for requests", () => {
  test.each(["grpc", "connect", "grpc-web"] as const)("over %s: sends that wait, and streams", async (binding) => {
    await start();
    await using peer = await connect(server.url, { bindings: [binding] });
    const read = async () => {
      const events: unknown[] = [];
      for await (const event of peer.stream("x")) events.push(event);
      return events;
    };
    const [reply, events] = await Promise.all([peer.send("x"), read()]);
    expect(reply.text).toContain("last");
    expect(inspect(events, { depth: null })).toContain("last");
  });

  test("over JSON-RPC on HTTP/2: an event stream", async () => {
    await start();
    const stream = post("/a2a", "application/json");
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
    stream.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: { message } }));
    expect((await answerTo(stream)).text).toMatch(/"last"[\s\S]*TASK_STATE_COMPLETED/);
  });

  test("also where both sides are streams that stay open", async () => {
    await start();
    const stream = post("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "application/grpc");
    let answers = 0;
    stream.on("data", () => answers++);
    const listServices = grpcMessage(Buffer.from([0x3a, 0]));
    stream.write(listServices);
    await once(stream, "data");
    await A_WHILE();
    expect(stream.closed).toBe(false);
    stream.end(listServices);
    expect((await answerTo(stream)).headers["grpc-status"]).toBe("0");
    expect(answers).toBe(2);
  });
});
