import { type AddressInfo, createServer, type Socket } from "node:net";
import { CallError, connect } from "nuncio/client";
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
