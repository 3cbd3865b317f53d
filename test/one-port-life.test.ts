import { request } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, constants, type ServerHttp2Session } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { destroyWhenDead } from "../src/hosts/live-session.js";
import { createOnePort, type OnePort, type OnePortOptions } from "../src/hosts/one-port.js";
import { systemRuntime } from "../src/runtime/runtime.js";
import { selfSigned } from "./support/tls.js";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

let onePort: OnePort;
const sessions: ClientHttp2Session[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await onePort.drain(0);
});

/** Answers each request at once, and takes its body in. */
async function start(options: Partial<OnePortOptions> = {}): Promise<number> {
  onePort = createOnePort({
    runtime: systemRuntime,
    onRequest: (received, response) => {
      received.resume();
      response.end("answered");
    },
    ...options,
  });
  return onePort.listen({ port: 0, host: "127.0.0.1" });
}

function session(port: number): ClientHttp2Session {
  const opened = connectHttp2(`http://127.0.0.1:${port}`);
  sessions.push(opened);
  return opened;
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    socket.resume();
  });
}

describe("an HTTP/2 connection", () => {
  it.each([
    ["headers that are no HPACK", [0, 0, 3, 1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff]],
    ["a frame that is larger than fits", [1, 0x86, 0xa0, 0, 0, 0, 0, 0, 1]],
    ["data of no stream", [0, 0, 1, 0, 1, 0, 0, 0, 0, 0x78]],
    ["headers that never end", [0, 0, 0, 1, 0, 0, 0, 0, 1]],
  ])("on which came %s is closed, and costs nothing any more", async (_what, frame) => {
    const socket = connect(await start({ pingIntervalMs: 50 }), "127.0.0.1");
    socket.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS, Buffer.from(frame)]));
    await closed(socket); // else the test runs out of time
  });

  it("is closed then with TLS as well", async () => {
    const port = await start({ pingIntervalMs: 50, tls: selfSigned });
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    socket.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS, Buffer.from([0, 0, 1, 0, 1, 0, 0, 0, 0, 0x78])]));
    await closed(socket);
  });

  it("that answers its pings stays, however idle it is", async () => {
    const idle = session(await start({ pingIntervalMs: 50 }));
    let pings = 0;
    idle.on("ping", () => ++pings);
    await expect.poll(() => pings, { timeout: 5_000 }).toBeGreaterThan(3);
    expect(idle.destroyed).toBe(false);
  });

  it("stays as well when it is so slow that its answer to a ping isn't the first that comes", () => {
    const { session, timers, advance } = sessionByHand();
    advance(60_000);
    expect(session.pings).toBe(1);
    session.socket.bytesRead += 1_000; // of a body that was on its way
    advance(20_000);
    expect(session.destroyed).toBe(false);
    advance(60_000);
    advance(20_000);
    expect([session.destroyed, session.pings, timers()]).toEqual([true, 2, 0]);
  });

  it("isn't asked while it is talking", () => {
    const { session, advance } = sessionByHand();
    for (let minute = 0; minute < 5; minute++) {
      session.socket.bytesRead += 1;
      advance(60_000);
    }
    expect([session.destroyed, session.pings]).toEqual([false, 0]);
  });
});

/** What is looked at of a session, and a clock that goes when it is told to. */
function sessionByHand() {
  let now = 0;
  const due = new Set<{ at: number; act: () => void }>();
  const session = {
    socket: { bytesRead: 100 },
    destroyed: false,
    pings: 0,
    once: () => undefined,
    ping: () => void session.pings++,
    destroy() {
      session.destroyed = true;
    },
  };
  const runtime = {
    ...systemRuntime,
    after(delayMs: number, act: () => void) {
      const timer = { at: now + delayMs, act };
      due.add(timer);
      return { cancel: () => void due.delete(timer) };
    },
  };
  destroyWhenDead(session as unknown as ServerHttp2Session, runtime);
  return {
    session,
    timers: () => due.size,
    advance(ms: number) {
      now += ms;
      for (const timer of [...due].filter(({ at }) => at <= now)) {
        due.delete(timer);
        timer.act();
      }
    },
  };
}

it("an HTTP/2 stream whose body goes on after its answer isn't kept for that", async () => {
  const stream = session(await start({ requestTimeoutMs: 50 })).request({ ":method": "POST", ":path": "/" });
  stream.resume().write("x");
  await new Promise((resolve) => stream.on("close", resolve));
  expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
});

describe("an expectation that nobody knows", () => {
  it("is no reason to leave a request unanswered over HTTP/1.1", async () => {
    const port = await start();
    const status = await new Promise((resolve, reject) => {
      const sent = request({ port, method: "POST", headers: { expect: "200-ok" }, agent: false }, ({ statusCode }) =>
        resolve(statusCode),
      );
      sent.on("error", reject);
      sent.end("x");
    });
    expect(status).toBe(200);
  });

  it("nor its body unread over HTTP/2", async () => {
    const stream = session(await start()).request({ ":method": "POST", ":path": "/", expect: "200-ok" });
    let status: unknown;
    stream.on("response", (headers) => {
      status = headers[":status"];
    });
    stream.resume();
    stream.end(Buffer.alloc(300_000));
    await new Promise((resolve) => stream.on("close", resolve));
    expect(status).toBe(200);
  });
});
