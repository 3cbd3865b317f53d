import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { connectRaw, eventually, saying, startHost, type TestHost } from "./support/host.js";
import { selfSigned } from "./support/tls.js";

let server: TestHost;
const sessions: ClientHttp2Session[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  server.handler.letGo();
  await server.host.close();
});

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const versioned = "Host: h\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n";

function rpcBody(method: string, params: object = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}

function rpcRequest(method: string, params: object = {}): string {
  const body = rpcBody(method, params);
  return `POST /a2a HTTP/1.1\r\n${versioned}Content-Length: ${body.length}\r\n\r\n${body}`;
}

function session(): ClientHttp2Session {
  const opened = connectHttp2(server.origin, { rejectUnauthorized: false });
  opened.on("error", () => undefined);
  sessions.push(opened);
  return opened;
}

interface H2Answer {
  status: number;
  type: string | undefined;
  text: string;
}

/** One request over HTTP/2; `onText` sees the answer grow. */
function ask(
  over: ClientHttp2Session,
  body: string,
  onText?: (text: string) => void,
  path = "/a2a",
): Promise<H2Answer> {
  return new Promise((resolve, reject) => {
    const stream = over.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/json",
      "a2a-version": "1.0",
    });
    const answer: H2Answer = { status: 0, type: undefined, text: "" };
    stream.on("response", (headers) => {
      answer.status = Number(headers[":status"]);
      answer.type = headers["content-type"];
    });
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      answer.text += text;
      onText?.(answer.text);
    });
    stream.on("end", () => (answer.status === 0 ? reject(new Error("cut off")) : resolve(answer)));
    stream.on("error", reject);
    stream.end(body);
  });
}

describe("one port", () => {
  test("answers JSON over both HTTP versions, and event streams", async () => {
    server = await startHost();
    expect((await server.rpc("ListTasks")).status).toBe(200);
    const over = session();
    expect(await ask(over, rpcBody("ListTasks"))).toMatchObject({ status: 200, type: "application/json" });
    const stream = await ask(over, rpcBody("SendStreamingMessage", saying("count:3")));
    expect([stream.status, stream.type, stream.text.match(/^id: /gm)?.length]).toEqual([200, "text/event-stream", 4]);
    expect((await ask(over, "{}", undefined, "/a2a/tasks/x:nope")).status).toBe(404);
  });

  test("knows HTTP/1.1 however its first bytes are cut, also where they begin like HTTP/2's", async () => {
    server = await startHost();
    for (const start of ["POST", "PRI", "PROPFIND"]) {
      const connection = connectRaw(server.port);
      for (const byte of rpcRequest("ListTasks").replace("POST", start)) {
        connection.socket.write(byte);
        if (start !== "POST") await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await connection.until("}")).toMatch(start === "POST" ? /^HTTP\/1.1 200/ : /^HTTP\/1.1 40[05]/);
      connection.socket.destroy();
    }
  });

  test("knows HTTP/2 however its preface is cut", async () => {
    server = await startHost();
    const connection = connectRaw(server.port);
    for (const byte of PREFACE) {
      connection.socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    connection.socket.write(EMPTY_SETTINGS);
    await connection.until("\x04\x01\x00\x00\x00\x00"); // it has acknowledged our settings
    connection.socket.destroy();
  });

  test("gives up on a connection that says nothing, half a preface, or no settings", async () => {
    server = await startHost({}, { openingTimeoutMs: 100 });
    for (const first of ["", "P", PREFACE.slice(0, 23), PREFACE]) {
      await connectRaw(server.port, first).closed;
    }
  });

  test("gives up on headers, and on a body, that don't come, though its HTTP/1.1 server never listens", async () => {
    server = await startHost({}, { headersTimeoutMs: 200, requestTimeoutMs: 400 });
    for (const first of [
      "GET /healthz HTTP/1.1\r\nHost: h\r\n",
      `POST /a2a HTTP/1.1\r\n${versioned}Content-Length: 10\r\n\r\n{`,
    ]) {
      const connection = connectRaw(server.port, first);
      expect(await connection.until("}}")).toMatch(/^HTTP\/1.1 408 [\s\S]*"DEADLINE_EXCEEDED"/);
      await connection.closed;
    }
  });

  test("never applies these limits to an answer: a stream outlives them", async () => {
    server = await startHost(
      { heartbeatMs: 100 },
      { headersTimeoutMs: 100, requestTimeoutMs: 200, openingTimeoutMs: 100 },
    );
    const connection = connectRaw(server.port, rpcRequest("SendStreamingMessage", saying("hold")));
    const over = session();
    let second = "";
    const stream = ask(over, rpcBody("SendStreamingMessage", saying("hold")), (text) => {
      second = text;
    });
    const beats = (text: string) => text.match(/^: /gm)?.length ?? 0;
    await eventually(() => beats(connection.text()) >= 8 && beats(second) >= 8);
    server.handler.letGo();
    await connection.until("TASK_STATE_COMPLETED");
    expect((await stream).text).toContain("TASK_STATE_COMPLETED");
    connection.socket.destroy();
  });

  test("answers a caller that has closed its half", async () => {
    server = await startHost();
    const unary = connectRaw(server.port, rpcRequest("SendMessage", saying("hold")));
    const stream = connectRaw(server.port, rpcRequest("SendStreamingMessage", saying("hold")));
    await eventually(() => server.handler.open.waits === 2);
    unary.socket.end();
    stream.socket.end();
    await unary.until("102 Processing");
    await stream.until("\n: ");
    server.handler.letGo();
    expect(await unary.until('"result"')).toMatch(/HTTP\/1.1 200/);
    await stream.until("TASK_STATE_COMPLETED");
    await Promise.all([unary.closed, stream.closed]);
  });

  test("answers a caller that closes its half together with its request", async () => {
    server = await startHost();
    for (const [method, params, last] of [
      ["ListTasks", {}, "totalSize"],
      ["SendStreamingMessage", saying("count:50"), "TASK_STATE_COMPLETED"],
    ] as const) {
      const connection = connectRaw(server.port);
      connection.socket.end(rpcRequest(method, params));
      await connection.until(last);
      await connection.closed;
    }
  });

  test("answers a caller of HTTP/1.0 that has closed its half", async () => {
    server = await startHost();
    const request = rpcRequest("SendMessage", saying("hold")).replace(" HTTP/1.1", " HTTP/1.0");
    const unary = connectRaw(server.port, request);
    await eventually(() => server.handler.open.waits === 1);
    unary.socket.end();
    await new Promise((resolve) => setTimeout(resolve, 150)); // both of its signs of life have been looked for
    server.handler.letGo();
    await unary.until('"result"');
    await unary.closed;
  });

  test("notices a caller that has gone, though a gone one looks like that", async () => {
    server = await startHost();
    const connections = ["SendMessage", "SendStreamingMessage"].map((method) =>
      connectRaw(server.port, rpcRequest(method, saying("hold"))),
    );
    await eventually(() => server.handler.open.waits === 2);
    for (const { socket } of connections) socket.destroy();
    await eventually(() => server.handler.open.waits === 0 && server.handler.open.streams === 0);
    expect(server.errors).toEqual([]);
  });

  test("answers what is no HTTP with a small JSON, and closes", async () => {
    server = await startHost();
    const cases: [string, string][] = [
      ["hello\r\n\r\n", "400"],
      ["GET / HTTP/9.9\r\n\r\n", "400"],
      ["GET / HTTP/1.1\r\nHost: h\r\nBad Header\r\n\r\n", "400"],
      ["GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", "400"],
      [`GET / HTTP/1.1\r\nHost: h\r\nX: ${"y".repeat(40_000)}\r\n\r\n`, "431"],
      ["POST /a2a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "400"],
      ["POST /a2a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "400"],
      ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400"],
    ];
    for (const [bytes, status] of cases) {
      const connection = connectRaw(server.port, bytes);
      expect(await connection.until("}}")).toMatch(
        new RegExp(`^HTTP/1.1 ${status} .*content-type: application/json.*"code":${status}`, "s"),
      );
      await connection.closed;
    }
  });
});

test("garbage behind a request never gets into its answer", async () => {
  server = await startHost();
  for (const method of ["SendStreamingMessage", "SendMessage"]) {
    const connection = connectRaw(server.port, rpcRequest(method, saying("hold")));
    await eventually(() => server.handler.open.waits === 1);
    connection.socket.write("garbage\r\n\r\n");
    await connection.closed;
    expect(connection.text()).not.toContain("400");
    await eventually(() => server.handler.open.waits === 0);
  }
});

test("a body that is too large costs its caller the request, not the connection", async () => {
  server = await startHost({ maxBodyBytes: 1_000 });
  const connection = connectRaw(server.port, `POST /a2a HTTP/1.1\r\n${versioned}Content-Length: 5000000\r\n\r\n`);
  await connection.until("REQUEST_TOO_LARGE");
  connection.socket.write("x".repeat(5_000_000));
  connection.socket.write(rpcRequest("ListTasks"));
  expect(await connection.until("totalSize")).toMatch(/^HTTP\/1.1 413 .*HTTP\/1.1 200 /s);
  connection.socket.destroy();
});

describe("with TLS", () => {
  test("the version is agreed on by ALPN, and is HTTP/1.1 without it", async () => {
    server = await startHost({}, { tls: selfSigned });
    expect(await ask(session(), rpcBody("ListTasks"))).toMatchObject({ status: 200 });
    const status = await new Promise((resolve, reject) => {
      httpsRequest(`${server.origin}/healthz`, { rejectUnauthorized: false, agent: false }, (response) => {
        resolve(response.resume().statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connectTls({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false }, () =>
        socket.write(rpcRequest("ListTasks")),
      );
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.includes("totalSize")) resolve(text);
        if (text.includes("totalSize")) socket.destroy();
      });
      socket.on("error", reject);
    });
    expect(answer).toMatch(/^HTTP\/1.1 200/);
  });

  test("a failed or missing handshake frees the socket", async () => {
    server = await startHost({}, { tls: selfSigned, openingTimeoutMs: 200 });
    for (const first of ["GET / HTTP/1.1\r\nHost: h\r\n\r\n", "", "\x16\x03\x01"])
      await connectRaw(server.port, first).closed;
  });

  test("drains streams of both versions", async () => {
    server = await startHost({}, { tls: selfSigned });
    const stream = ask(session(), rpcBody("SendStreamingMessage", saying("hold")));
    await eventually(() => server.handler.open.waits === 1);
    await server.host.drain(5_000);
    expect((await stream).text.endsWith("\n\n")).toBe(true);
  });
});

describe("draining", () => {
  test("ends streams of both versions at a whole frame, waits for answers, and refuses new requests as DRAINING", async () => {
    server = await startHost();
    const stream = connectRaw(server.port, rpcRequest("SendStreamingMessage", saying("hold")));
    const over = session();
    const h2Stream = ask(over, rpcBody("SendStreamingMessage", saying("hold")));
    const h2Unary = ask(over, rpcBody("SendMessage", saying("hold")));
    const unary = connectRaw(server.port, rpcRequest("SendMessage", saying("hold")));
    const idle = connectRaw(server.port, rpcRequest("ListTasks"));
    await idle.until("totalSize");
    await eventually(() => server.handler.open.waits === 4);

    const drained = server.host.drain(10_000);
    await eventually(() => server.handler.open.streams === 0);
    await stream.until("\n\n\r\n0\r\n\r\n"); // the last chunk, after a whole frame
    expect((await h2Stream).text.endsWith("\n\n")).toBe(true);

    idle.socket.write(rpcRequest("ListTasks"));
    const refused = await idle.until("DRAINING");
    expect(refused).toMatch(/HTTP\/1.1 503 [\s\S]*connection: close/);
    expect(refused).toMatch(/"code":-32031[\s\S]*"domain":"nuncio"/);
    await expect(ask(over, rpcBody("ListTasks"))).rejects.toThrow(); // unsent: the session has said goodbye
    await connectRaw(server.port).closed; // nobody listens any more

    server.handler.letGo();
    expect(await unary.until('"result"')).toMatch(/HTTP\/1.1 200/);
    expect((await h2Unary).status).toBe(200);
    await drained;
    await unary.closed;
    expect(server.handler.calls.filter(({ name }) => name === "listTasks")).toHaveLength(1);
  });

  test("holds its deadline against what doesn't end, and against readers that don't read", async () => {
    server = await startHost();
    const connections = [connectRaw(server.port, rpcRequest("SendMessage", saying("hold"))), connectRaw(server.port)];
    connections[1]?.socket.pause();
    connections[1]?.socket.write(rpcRequest("SendStreamingMessage", saying("big:1000000")));
    const over = session();
    const failed = expect(ask(over, rpcBody("SendMessage", saying("hold")))).rejects.toThrow();
    await eventually(() => server.handler.open.waits === 2 && server.handler.open.produced > 0);
    const before = Date.now();
    await server.host.drain(200);
    expect(Date.now() - before).toBeLessThan(2_000);
    await failed;
    connections[1]?.socket.resume();
    for (const { closed } of connections) await closed;
    await eventually(() => server.handler.open.streams === 0 && server.handler.open.waits === 0);
  });

  test("may be told to hurry", async () => {
    server = await startHost();
    const connection = connectRaw(server.port, rpcRequest("SendMessage", saying("hold")));
    await eventually(() => server.handler.open.waits === 1);
    const drained = server.host.drain(1_000_000);
    await server.host.close();
    await drained;
    await connection.closed;
  });
});

test("an HTTP/2 stream that is reset stops the handler", async () => {
  server = await startHost();
  const over = session();
  for (const method of ["SendMessage", "SendStreamingMessage"]) {
    const stream = over.request({
      ":method": "POST",
      ":path": "/a2a",
      "content-type": "application/json",
      "a2a-version": "1.0",
    });
    stream.on("error", () => undefined);
    stream.end(rpcBody(method, saying("hold")));
    await eventually(() => server.handler.open.waits === 1);
    stream.close(constants.NGHTTP2_CANCEL);
    await eventually(() => server.handler.open.waits === 0 && server.handler.open.streams === 0);
  }
  expect(server.errors).toEqual([]);
});
