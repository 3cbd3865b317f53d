import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { connectRaw, eventually, saying, startHost, type TestHost } from "./support/host.js";
import { selfSigned } from "./support/tls.js";

let server: TestHost;
afterEach(async () => {
  server.handler.letGo();
  await server.host.close();
});

const CONNECT = "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n";
const REFUSED =
  /^HTTP\/1\.1 405 Method Not Allowed\r\n[\s\S]*content-type: application\/json\r\nallow: GET, POST, DELETE\r\n[\s\S]*\{"error":\{"code":405,"status":"UNIMPLEMENTED","message":"Method not allowed"\}\}$/;

describe("CONNECT", () => {
  test("is refused over HTTP/1.1, whatever is sent behind it, and the connection closed", async () => {
    server = await startHost();
    for (const behind of ["", "x".repeat(1_000_000)]) {
      const connection = connectRaw(server.port, CONNECT + behind);
      await connection.closed;
      expect(connection.text()).toMatch(REFUSED);
      connection.socket.destroy();
    }
  });

  test("is refused with TLS", async () => {
    server = await startHost({}, { tls: selfSigned });
    const socket = connectTls({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
    socket.write(CONNECT);
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    expect(text).toMatch(REFUSED);
  });

  test.each([undefined, selfSigned])("is refused over HTTP/2, and its stream doesn't stay", async (tls) => {
    server = await startHost({}, { tls });
    const session = connectHttp2(server.origin, { rejectUnauthorized: false });
    const stream = session.request({ ":method": "CONNECT", ":authority": "example.org:443" });
    let head: object = {};
    let text = "";
    stream.on("response", (headers) => {
      head = headers;
    });
    stream.on("data", (chunk) => {
      text += chunk;
    });
    await new Promise((resolve) => stream.on("close", resolve)); // though its half was never closed
    expect(head).toMatchObject({ ":status": 405, "content-type": "application/json", allow: "GET, POST, DELETE" });
    expect(text).toBe('{"error":{"code":405,"status":"UNIMPLEMENTED","message":"Method not allowed"}}');
    session.destroy();
  });

  test("behind a request never gets into its answer", async () => {
    server = await startHost();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: saying("hold") });
    const head = `Host: h\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const connection = connectRaw(server.port, `POST /a2a HTTP/1.1\r\n${head}\r\n\r\n${body}`);
    await eventually(() => server.handler.open.waits === 1);
    connection.socket.write(CONNECT);
    await connection.closed;
    expect(connection.text()).not.toContain("405");
    await eventually(() => server.handler.open.waits === 0);
  });
});

describe("an offer to upgrade", () => {
  test.each(["websocket", "h2c", "TLS/1.0", "nonsense"])(
    "to %s is passed over, and the request answered",
    async (to) => {
      server = await startHost();
      const connection = connectRaw(
        server.port,
        `GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${to}\r\nHTTP2-Settings: \r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      );
      expect(await connection.until("\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 /);
      connection.socket.destroy();
    },
  );

  test("at a path of a binding is answered in its shape", async () => {
    server = await startHost();
    const connection = connectRaw(
      server.port,
      "GET /a2a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    expect(await connection.until("}}")).toMatch(/^HTTP\/1\.1 405 [\s\S]*"jsonrpc":"2.0"/);
    connection.socket.destroy();
  });
});

describe("a body that is too large, at a path that is nobody's", () => {
  test("costs its caller the request over HTTP/1.1, not the connection", async () => {
    server = await startHost({ maxBodyBytes: 1_000 });
    const head = "Host: h\r\nContent-Type: text/plain\r\nContent-Length: 5000000";
    const connection = connectRaw(server.port, `POST /nowhere HTTP/1.1\r\n${head}\r\n\r\n`);
    await connection.until("REQUEST_TOO_LARGE");
    connection.socket.write("x".repeat(5_000_000));
    connection.socket.write("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    expect(await connection.until('"ok"')).toMatch(/^HTTP\/1\.1 413 [\s\S]*HTTP\/1\.1 200 /);
    connection.socket.destroy();
  });
});
