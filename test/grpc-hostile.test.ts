import { request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GrpcHost, startGrpc } from "./support/grpc.js";

let host: GrpcHost;
beforeAll(async () => {
  host = await startGrpc();
});
afterAll(() => host.close());

const path = "/lf.a2a.v1.A2AService/GetTask";

/** One call of gRPC over a session: its status, once the stream is over on both sides. */
function statusOf(session: ClientHttp2Session, body: Buffer, headers: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    let status = "none";
    const note = (told: object) => {
      status = String((told as Record<string, unknown>)["grpc-status"] ?? status);
    };
    stream.on("response", note);
    stream.on("trailers", note);
    stream.on("error", () => undefined);
    stream.on("close", () => resolve(status));
    stream.resume();
    stream.end(body);
  });
}

describe("a refused gRPC request", () => {
  it.each([100, 70_000, 200_000, 900_000])(
    "of %i bytes that nobody reads is over once it is answered",
    async (size) => {
      const session = connect(host.origin);
      try {
        // An envelope of nothing, and many more after it, which no unary call has.
        expect(await statusOf(session, Buffer.alloc(size))).toBe("12");
        expect(await statusOf(session, Buffer.alloc(5))).toBe("3"); // and the connection goes on
      } finally {
        session.destroy();
      }
    },
  );
});

describe("a request for a host that is none", () => {
  it.each(["a@b:99999", "[::1", "%"])("%s is answered over gRPC", async (authority) => {
    const session = connect(host.origin);
    try {
      expect(await statusOf(session, Buffer.alloc(5), { ":authority": authority })).toBe("3");
    } finally {
      session.destroy();
    }
  });

  it.each(["a b", "[::1", "a@b:99999", ""])("%j is answered over Connect", async (name) => {
    const status = await new Promise((resolve, reject) => {
      const headers = { host: name, "content-type": "application/json" };
      const sent = request(`${host.origin}${path}`, { method: "POST", headers, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject);
      sent.end("{}");
    });
    expect(status).toBe(400);
  });
});
