import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { agent, type Server, serve } from "nuncio";
import { connect } from "nuncio/client";
import { afterEach, expect, test } from "vitest";
import { silentLogger } from "../src/runtime/logger.js";

const says = agent({
  name: "Says",
  description: "Says x",
  async *run(task) {
    yield task.artifact("x");
  },
});
const open: { server: Server; session: ClientHttp2Session }[] = [];
afterEach(async () => {
  for (const { server, session } of open.splice(0)) {
    session.destroy();
    await server.close();
  }
});

async function start(options: Parameters<typeof serve>[1]) {
  const server = await serve(says, { port: 0, journal: "memory:", logger: silentLogger, ...options });
  const socket = connectTcp({ port: Number(new URL(server.url).port), host: "127.0.0.1", allowHalfOpen: true });
  const session = connectHttp2(server.url, { createConnection: () => socket });
  session.on("error", () => undefined);
  open.push({ server, session });
  await once(session, "connect");
  const post = (path: string, type: string) => {
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, "a2a-version": "1.0" });
    return stream.on("error", () => undefined);
  };
  return { server, session, socket, post };
}

test.each([
  ["/a2a", "application/json"],
  ["/lf.a2a.v1.A2AService/SendMessage", "application/grpc"],
])(
  "a caller of %s whose connection ends in the middle of its request doesn't keep the server from closing",
  async (path, type) => {
    const { server, session, socket, post } = await start({ drainMs: 5_000 });
    post(path, type).write("{");
    await new Promise((resolve) => session.ping(resolve)); // it has arrived
    socket.end();
    const began = performance.now();
    await server.close();
    expect(performance.now() - began).toBeLessThan(2_000);
  },
);

test("what is left of a gRPC request that was refused is taken in, so that its stream ends", async () => {
  const { post } = await start({ limits: { bodyBytes: 1_000 } });
  const stream = post("/lf.a2a.v1.A2AService/SendMessage", "application/grpc");
  const message = Buffer.alloc(500_000, "a");
  message.writeUIntBE(message.length - 5, 0, 5);
  const trailers = once(stream, "trailers");
  stream.resume().end(message);
  expect((await trailers)[0]).toMatchObject({ "grpc-status": "8" });
  await once(stream, "close");
  expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
});

test("after a gRPC request of 16 MiB that is refused, the client's connection still works", async () => {
  const { server } = await start({});
  await using peer = await connect(server.url, { bindings: ["grpc"] });
  await expect(peer.send("a".repeat(16 * 1024 * 1024))).rejects.toThrow("The request is too large");
  expect((await peer.send("a")).text).toBe("x");
});
