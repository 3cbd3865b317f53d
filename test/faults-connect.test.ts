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
  await expect(peer.get("x")).rejects.toMatchObject({ message: expect.stringContaining("ECONNREFUSED") });
});

function cardWith(supportedInterfaces: NonNullable<AgentCardJson["supportedInterfaces"]>): AgentCardJson {
  return { name: "Hostile", description: "Gives odd addresses", version: "1", supportedInterfaces };
}
