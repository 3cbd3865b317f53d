import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { CallError, connect } from "nuncio/client";
import type { AgentCardJson } from "nuncio/types";
import { afterEach, expect, test } from "vitest";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server that writes, without listening to what is asked. */
async function startServer(answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";

test("connecting to a server whose card has no end fails soon, and reads little of it", async () => {
  let written = 0;
  const url = await startServer((socket) => {
    const piece = Buffer.alloc(64 * 1024, " ");
    const more = () => {
      while (!socket.destroyed && written < 256 * piece.length) {
        written += piece.length;
        if (!socket.write(piece)) break;
      }
    };
    socket.on("drain", more);
    socket.write(head);
    more();
  });
  const failed = await connect(url).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(CallError);
  expect(failed).toMatchObject({
    outcome: "not-sent",
    message: expect.stringContaining("too large for an agent card"),
  });
  expect(written).toBeLessThan(16 * 1024 * 1024);
});

test.each([
  ["never comes", ""],
  ["stops in the middle", `${head}{"name":`],
])("connecting to a server whose card %s ends at the deadline", async (_what, text) => {
  const url = await startServer((socket) => void (text !== "" && socket.write(text)));
  await expect(connect(url, { timeoutMs: 50 })).rejects.toMatchObject({ outcome: "not-sent", message: /within 50 ms/ });
});

test.each([
  "javascript:alert(1)",
  "file:///etc/passwd",
  "data:text/plain,hi",
  "ftp://example.org",
  "/a2a",
  "",
  "http://u:p@localhost",
])("a card that gives %j as its address is refused before anything is sent, whatever the binding", async (url) => {
  for (const protocolBinding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
    const failed = connect(cardWith([{ url, protocolBinding, protocolVersion: "1.0" }]));
    await expect(failed).rejects.toMatchObject({ outcome: "not-sent", reason: "INVALID_AGENT_RESPONSE" });
  }
});

test("an address that nothing can go to is passed over for the next one", async () => {
  const next = { url: "localhost:1", protocolBinding: "GRPC", protocolVersion: "1.0" };
  const peer = await connect(cardWith([{ ...next, url: "file:///x", protocolBinding: "JSONRPC" }, next]));
  await expect(peer.get("x")).rejects.toMatchObject({ message: "Can't reach localhost:1: connection refused" });
});

test("connecting to a port where no client goes says so", async () => {
  const failed = connect("http://127.0.0.1:1");
  await expect(failed).rejects.toThrow("Can't reach 127.0.0.1:1: bad port: no client goes there");
  await expect(failed).rejects.toMatchObject({ reason: "UNAVAILABLE", outcome: "not-sent" });
});

test.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
  "a call over %s says why nobody can be reached",
  async (protocolBinding) => {
    const resetting = await startServer((socket) => socket.resetAndDestroy());
    const clear = await startServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"));
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    for (const [url, said, outcome] of [
      [`http://127.0.0.1:${port}`, "connection refused", "not-sent"],
      ...(protocolBinding === "GRPC" ? [] : ([[resetting, "connection reset", "unknown"]] as const)), // HTTP/2 says CANCEL
      [clear.replace("http", "https"), "it doesn't speak TLS; try http instead of https", "not-sent"],
    ] as const) {
      await using peer = await connect(cardWith([{ url, protocolBinding, protocolVersion: "1.0" }]));
      const failed = peer.get("x");
      await expect(failed).rejects.toThrow(`Can't reach ${new URL(url).host}: ${said}`);
      await expect(failed).rejects.toMatchObject({ outcome, cause: expect.any(Error) });
    }
  },
);

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is self-signed", "not-sent"],
  ["CERT_HAS_EXPIRED", "its certificate has expired", "not-sent"],
  ["ENOTFOUND", "no such host", "not-sent"],
  ["EAI_AGAIN", "the host's name can't be looked up now", "not-sent"],
  ["ETIMEDOUT", "connection timed out", "unknown"],
])("%s is said in words", async (code, said, outcome) => {
  const cause = new TypeError("fetch failed", { cause: Object.assign(new Error("odd"), { code }) });
  const peer = await connect(
    cardWith([{ url: "https://a.example/x", protocolBinding: "JSONRPC", protocolVersion: "1.0" }]),
    {
      fetch: () => Promise.reject(cause),
    },
  );
  const message = `Can't reach a.example:443: ${said}`;
  await expect(peer.get("x")).rejects.toMatchObject({ message, outcome, cause });
});

function cardWith(supportedInterfaces: NonNullable<AgentCardJson["supportedInterfaces"]>): AgentCardJson {
  return { name: "Hostile", description: "Gives odd addresses", version: "1", supportedInterfaces };
}
