import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Composed, startComposed } from "./support/composed.js";

let composed: Composed;
beforeAll(async () => {
  composed = await startComposed();
});
afterAll(() => composed.close());

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly head: string;
  readonly body: string;
}

/** Sends bytes, closes its half if told to, and reads until the server closes. */
async function exchange(bytes: string | Buffer, { half = false } = {}): Promise<Answer> {
  const text = await new Promise<string>((resolve) => {
    const socket = connect({ port: composed.port, host: "127.0.0.1", allowHalfOpen: true });
    let read = "";
    socket.on("data", (chunk) => {
      read += chunk.toString("utf8");
    });
    socket.on("end", () => socket.destroy());
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(read));
    socket.write(bytes);
    if (half) socket.end();
  });
  const final = text.replace(/^(HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n)+/, ""); // after what was said while it waited
  const [head = "", raw = ""] = final.split("\r\n\r\n", 2);
  const body = /^transfer-encoding: chunked/im.test(head) ? raw.replace(/^[0-9a-f]+(\r\n|$)/, "") : raw; // what is looked at is one chunk
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0);
  return { status, type: /^content-type: (.*)$/im.exec(head)?.[1] ?? "", head, body };
}

const json = "Content-Type: application/json\r\n";
const proto = "Content-Type: application/proto\r\n";
const rpcPath = "/lf.a2a.v1.A2AService/GetTask";

function http(method: string, path: string, headers = "", body: string | Buffer = ""): Buffer {
  const framed = /content-length|transfer-encoding/i.test(headers);
  const length = method === "POST" && !framed ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : "";
  const head = `${method} ${path} HTTP/1.1\r\nHost: h\r\nA2A-Version: 1.0\r\nConnection: close\r\n${headers}${length}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/** What a refused request looks like: its bytes, the status, and what its body says in the form of its binding. */
type Refused = readonly [what: string, bytes: Buffer | string, status: number, says: RegExp | "", half?: boolean];

const rest = (status: number, name: string) =>
  new RegExp(`^\\{"error":\\{"code":${status},"status":"${name}","message":`);
const rpc = (code: number, id = "null") =>
  new RegExp(`^\\{"jsonrpc":"2.0","id":${id},"error":\\{"code":${code},"message":`);
const wire = (code: string) => new RegExp(`^\\{"code":"${code}","message":`);
const notHttp = rest(400, "INVALID_ARGUMENT");
const message = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } });
const call = (more: string) => `{"jsonrpc":"2.0","id":7,${more}}`;
const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const inMetadata = (value: string) => message.replace('"parts"', `"metadata":{"x":${value}},"parts"`);
const tooLarge = `${json}Content-Length: 20000000\r\n`;
const chunked = `${json}Transfer-Encoding: chunked\r\n`;

const overJsonRpc: readonly Refused[] = [
  ["half a JSON", http("POST", "/a2a", json, '{"jsonrpc":'), 200, rpc(-32700)],
  ["no body", http("POST", "/a2a", json), 200, rpc(-32700)],
  ["bytes that are no UTF-8", http("POST", "/a2a", json, Buffer.from([0x22, 0xff, 0xfe, 0x22])), 200, rpc(-32700)],
  [
    "gzip that nobody asked for",
    http("POST", "/a2a", `${json}Content-Encoding: gzip\r\n`, Buffer.from([0x1f, 0x8b, 8, 0])),
    200,
    rpc(-32700),
  ],
  ["a batch", http("POST", "/a2a", json, `[${call('"method":"ListTasks"')}]`), 200, rpc(-32600)],
  ["an empty batch", http("POST", "/a2a", json, "[]"), 200, rpc(-32600)],
  ["no version of JSON-RPC", http("POST", "/a2a", json, '{"id":7,"method":"ListTasks"}'), 200, rpc(-32600, "7")],
  [
    "no id",
    http("POST", "/a2a", json, `{"jsonrpc":"2.0","method":"SendMessage","params":${message}}`),
    200,
    rpc(-32600),
  ],
  ["a method that isn't there", http("POST", "/a2a", json, call('"method":"Send"')), 200, rpc(-32601, "7")],
  [
    "a method of 0.3",
    http("POST", "/a2a", json, call(`"method":"message/send","params":${message}`)),
    200,
    rpc(-32601, "7"),
  ],
  ["a method of Object's prototype", http("POST", "/a2a", json, call('"method":"__proto__"')), 200, rpc(-32601, "7")],
  [
    "params in a list",
    http("POST", "/a2a", json, call(`"method":"SendMessage","params":[${message}]`)),
    200,
    rpc(-32602, "7"),
  ],
  [
    "JSON too deep",
    http("POST", "/a2a", json, call(`"method":"SendMessage","params":${inMetadata(deep(5_000))}`)),
    200,
    rpc(-32700),
  ],
  ["more than fits", http("POST", "/a2a", tooLarge), 413, rpc(-32000)],
  [
    "another media type",
    http("POST", "/a2a", "Content-Type: text/plain\r\n", call('"method":"ListTasks"')),
    415,
    rpc(-32005),
  ],
  ["no media type", http("POST", "/a2a", "", call('"method":"ListTasks"')), 415, rpc(-32005)],
  ["gRPC's media type", http("POST", "/a2a", "Content-Type: application/grpc\r\n", "\0\0\0\0\0"), 415, rpc(-32005)],
  ["GET", http("GET", "/a2a"), 405, rpc(-32600)],
  ["PROPFIND", http("PROPFIND", "/a2a"), 405, rpc(-32600)],
];

const overHttpJson: readonly Refused[] = [
  ["half a JSON", http("POST", "/a2a/message:send", json, '{"message":'), 400, rest(400, "INVALID_ARGUMENT")],
  ["a text", http("POST", "/a2a/message:send", json, '"hi"'), 400, rest(400, "INVALID_ARGUMENT")],
  [
    "JSON too deep",
    http("POST", "/a2a/message:stream", json, inMetadata(deep(5_000))),
    400,
    rest(400, "INVALID_ARGUMENT"),
  ],
  ["more than fits", http("POST", "/a2a/message:send", tooLarge), 413, rest(413, "RESOURCE_EXHAUSTED")],
  [
    "another media type",
    http("POST", "/a2a/message:send", "Content-Type: text/xml\r\n", message),
    400,
    /CONTENT_TYPE_NOT_SUPPORTED/,
  ],
  [
    "a form",
    http("POST", "/a2a/message:send", "Content-Type: multipart/form-data; boundary=x\r\n", "--x--"),
    400,
    /CONTENT_TYPE_NOT_SUPPORTED/,
  ],
  ["no media type", http("POST", "/a2a/message:send", "", message), 400, /CONTENT_TYPE_NOT_SUPPORTED/],
  ["a path that isn't there", http("POST", "/a2a/message:explode", json, message), 404, rest(404, "NOT_FOUND")],
  ["a path of 0.3", http("POST", "/a2a/v1/message:send", json, message), 404, rest(404, "NOT_FOUND")],
  ["a tenant that isn't there", http("POST", "/a2a/x/message:send", json, message), 404, rest(404, "NOT_FOUND")],
  ["a verb that isn't there", http("POST", "/a2a/tasks/x:explode", json, "{}"), 404, rest(404, "NOT_FOUND")],
  ["a verb without a task", http("POST", "/a2a/tasks/:cancel"), 404, rest(404, "NOT_FOUND")],
  ["no id", http("GET", "/a2a/tasks/"), 404, rest(404, "NOT_FOUND")],
  ["a task that isn't there", http("GET", `/a2a/tasks/${"x".repeat(7_000)}`), 404, /TASK_NOT_FOUND/],
  ["NUL in an id", http("GET", "/a2a/tasks/a%00b"), 400, rest(400, "INVALID_ARGUMENT")],
  ["half a percent", http("GET", "/a2a/tasks/%zz"), 400, rest(400, "INVALID_ARGUMENT")],
  ["a percent that is no UTF-8", http("GET", "/a2a/tasks/%ff"), 400, rest(400, "INVALID_ARGUMENT")],
  ["a parameter twice", http("GET", "/a2a/tasks?pageSize=2&pageSize=3"), 400, rest(400, "INVALID_ARGUMENT")],
  ["a page too large", http("GET", "/a2a/tasks?pageSize=101"), 400, rest(400, "INVALID_ARGUMENT")],
  ["a boolean of Python", http("GET", "/a2a/tasks?includeArtifacts=True"), 400, rest(400, "INVALID_ARGUMENT")],
  [
    "a time without a zone",
    http("GET", "/a2a/tasks?statusTimestampAfter=2026-01-01T00:00:00"),
    400,
    rest(400, "INVALID_ARGUMENT"),
  ],
  ["a status that isn't there", http("GET", "/a2a/tasks?status=TASK_STATE_PAUSED"), 400, rest(400, "INVALID_ARGUMENT")],
  ["a page token of nobody", http("GET", "/a2a/tasks?pageToken=%25%25"), 400, rest(400, "INVALID_ARGUMENT")],
  ["another version", http("GET", "/a2a/tasks?A2A-Version=0.3"), 400, rest(400, "INVALID_ARGUMENT")],
  ["PUT", http("PUT", "/a2a/tasks"), 405, rest(405, "UNIMPLEMENTED")],
  ["TRACE", http("TRACE", "/a2a/tasks"), 405, rest(405, "UNIMPLEMENTED")],
  ["HEAD", http("HEAD", "/a2a/tasks"), 405, ""],
  ["HEAD of a stream", http("HEAD", "/a2a/tasks/x:subscribe"), 405, ""],
  ["dots in the path", http("GET", "/a2a/%2e%2e/etc/passwd"), 404, rest(404, "NOT_FOUND")],
  ["the root", http("GET", "/"), 404, rest(404, "NOT_FOUND")],
  ["OPTIONS of everything", http("OPTIONS", "*"), 404, rest(404, "NOT_FOUND")],
];

const overConnect: readonly Refused[] = [
  ["half a JSON", http("POST", rpcPath, json, '{"id":'), 400, wire("invalid_argument")],
  [
    "bytes that are no protobuf",
    http("POST", rpcPath, proto, Buffer.from([0xff, 0xff])),
    400,
    wire("invalid_argument"),
  ],
  [
    "a text that is no UTF-8",
    http("POST", rpcPath, proto, Buffer.from([0x12, 2, 0xff, 0xfe])),
    400,
    wire("invalid_argument"),
  ],
  ["nothing where an id is due", http("POST", rpcPath, proto), 400, wire("invalid_argument")],
  ["more than fits", http("POST", rpcPath, `${proto}Content-Length: 20000000\r\n`), 429, wire("resource_exhausted")],
  ["a method that isn't there", http("POST", "/lf.a2a.v1.A2AService/Send", json, "{}"), 404, wire("unimplemented")],
  ["another media type", http("POST", rpcPath, "Content-Type: text/xml\r\n", "{}"), 415, ""],
  ["GET", http("GET", `${rpcPath}?message=%7B%7D&encoding=json`), 405, ""],
];

const asHttp: readonly Refused[] = [
  ["no HTTP", "hello\r\n\r\n", 400, notHttp],
  ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, notHttp],
  ["a version of HTTP that isn't there", "GET /a2a/tasks HTTP/3.0\r\nHost: h\r\n\r\n", 400, notHttp],
  ["a verb that isn't there", http("BREW", "/a2a/tasks"), 400, notHttp],
  ["a verb in small letters", http("get", "/a2a/tasks"), 400, notHttp],
  ["NUL in its path", http("GET", "/a2a/tasks/a\0b"), 400, notHttp],
  ["NUL in a header", http("GET", "/a2a/tasks", "X: a\0b\r\n"), 400, notHttp],
  ["headers too large", http("GET", "/a2a/tasks", `X: ${"x".repeat(40_000)}\r\n`), 431, rest(431, "INVALID_ARGUMENT")],
  ["two lengths", http("POST", "/a2a", `${json}Content-Length: 3\r\nContent-Length: 4\r\n`, "{}  "), 400, notHttp],
  ["a length and chunks", http("POST", "/a2a", `${chunked}Content-Length: 3\r\n`, "0\r\n\r\n"), 400, notHttp],
  ["a negative length", http("POST", "/a2a", `${json}Content-Length: -3\r\n`), 400, notHttp],
  ["a chunk of no size", http("POST", "/a2a/message:send", chunked, "zz\r\n{}\r\n0\r\n\r\n"), 400, notHttp],
  ["half a chunk", http("POST", "/a2a/message:send", chunked, `ff\r\n${message}`), 400, notHttp, true],
  ["half a body", http("POST", "/a2a/message:send", `${json}Content-Length: 500\r\n`, message), 400, notHttp, true],
  ["half a head", "POST /a2a/message:send HTTP/1.1\r\nHost: h\r\nContent-", 400, notHttp, true],
];

describe.each([
  ["JSON-RPC", overJsonRpc, "application/json"],
  ["HTTP+JSON", overHttpJson, "application/a2a+json"],
  ["Connect", overConnect, "application/json"],
  ["HTTP", asHttp, "application/json"],
] satisfies [string, readonly Refused[], string][])("%s refuses", (_name, refusals, type) => {
  const cases = refusals.map(([what, bytes, status, says, half = false]) => ({ what, bytes, status, says, half }));
  test.each(cases)("$what", async ({ bytes, status, says, half }) => {
    const answer = await exchange(bytes, { half });
    expect(answer.status).toBe(status);
    if (says === "") return expect(answer.body).toBe("");
    expect(answer.type).toBe(type);
    expect(answer.body).toMatch(says);
  });
});

test("nothing of what was refused was done, and none of it was an error of ours", async () => {
  const listed = await exchange(http("GET", "/a2a/tasks?__proto__=1&constructor=2&pageSize[]=3"));
  expect(JSON.parse(listed.body)).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  expect(composed.rows()).toEqual({ task: 0, event: 0, snapshot: 0, seen: 0 });
  expect(composed.errors).toEqual([]);
});

test("a body may come in chunks of any size, its sender may expect to be asked for it, and HTTP may be 1.0", async () => {
  const chunks = [...message].map((one) => `1;x=y\r\n${one}\r\n`).join("");
  for (const bytes of [
    http("POST", "/a2a/message:send", chunked, `${chunks}0\r\n\r\n`),
    http("POST", "/a2a/message:send", `${json}Expect: 100-continue\r\n`, message),
    `POST /a2a/message:send HTTP/1.0\r\nA2A-Version: 1.0\r\n${json}Content-Length: ${message.length}\r\n\r\n${message}`,
  ]) {
    const answer = await exchange(bytes);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain("Hello hi");
  }
  expect(composed.rows().task).toBe(1); // it was the same message each time
});

test("JSON as large as fits is taken, and as deep as it may be", async () => {
  const large = message.replace("hi", "x".repeat(5_000_000)).replace('"m"', '"large"');
  const answer = await fetch(`${composed.url}/a2a/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: large,
  });
  expect(answer.status).toBe(200);
  expect((await answer.text()).length).toBeGreaterThan(10_000_000); // the message, and the greeting
  const nested = await exchange(http("POST", "/a2a/message:send", json, inMetadata(deep(36)).replace('"m"', '"deep"')));
  expect(nested.status).toBe(200);
});
