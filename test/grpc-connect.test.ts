import { create, fromBinary, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { A2AError } from "../src/a2a/errors.js";
import { A2AService, Role, SendMessageRequestSchema, TaskSchema } from "../src/a2a/types.js";
import { type GrpcHost, startGrpc } from "./support/grpc.js";
import { eventually } from "./support/host.js";

let host: GrpcHost | undefined;
afterEach(async () => {
  await host?.close();
  host = undefined;
});
async function start(...args: Parameters<typeof startGrpc>): Promise<GrpcHost> {
  host = await startGrpc(...args);
  return host;
}

const saying = (text: string) =>
  create(SendMessageRequestSchema, {
    message: { messageId: "m1", role: Role.USER, parts: [{ content: { case: "text", value: text } }] },
  });
const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] };

async function post(method: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${host?.origin}/lf.a2a.v1.A2AService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: body instanceof Uint8Array || typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const refusal = ({ text }: { text: string }) => {
  const { code, details = [] } = JSON.parse(text) as {
    code: string;
    details?: { type: string; debug: { reason?: string; fieldViolations?: { field: string; reason: string }[] } }[];
  };
  return {
    code,
    reason: details[0]?.debug.reason,
    fields: details
      .flatMap(({ debug }) => debug.fieldViolations ?? [])
      .map(({ field, reason }) => `${field} ${reason}`),
  };
};

describe.each([
  ["gRPC", createGrpcTransport],
  ["gRPC-Web", (options: { baseUrl: string }) => createGrpcWebTransport({ ...options, httpVersion: "1.1" as const })],
  [
    "gRPC-Web over HTTP/2",
    (options: { baseUrl: string }) => createGrpcWebTransport({ ...options, httpVersion: "2" as const }),
  ],
  ["Connect", (options: { baseUrl: string }) => createConnectTransport({ ...options, httpVersion: "1.1" as const })],
  [
    "Connect in protobuf",
    (options: { baseUrl: string }) =>
      createConnectTransport({ ...options, httpVersion: "2" as const, useBinaryFormat: true }),
  ],
])("a Connect client over %s", (_name, transport) => {
  it("sends, streams, cancels and reads errors", async () => {
    const { origin, handler } = await start();
    const client = createClient(A2AService, transport({ baseUrl: origin }));
    expect((await client.sendMessage(saying("a"))).payload.case).toBe("task");

    const cases: unknown[] = [];
    for await (const event of client.sendStreamingMessage(saying("count:2"))) cases.push(event.payload.case);
    expect(cases).toEqual(["task", "artifactUpdate", "artifactUpdate", "statusUpdate"]);

    const error = await client.getTask({ id: "none" }).catch((thrown: ConnectError) => thrown);
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "Task not found" });
    expect((error as ConnectError).findDetails(ErrorInfoSchema)[0]).toMatchObject({
      reason: "TASK_NOT_FOUND",
      domain: "a2a-protocol.org",
    });
    const long = await client.sendMessage(saying("refuse:QUOTA_EXHAUSTED")).catch((thrown: ConnectError) => thrown);
    expect(long).toMatchObject({ rawMessage: "A quota is exhausted; retry later" });

    const huge = saying("x".repeat(2_000_000));
    const refusals = [
      client.sendMessage(huge),
      (async () => {
        for await (const _event of client.sendStreamingMessage(huge));
      })(),
    ].map((call) => call.catch((thrown: ConnectError) => thrown));
    for (const refused of await Promise.all(refusals)) {
      expect(refused).toMatchObject({ code: Code.ResourceExhausted, rawMessage: "The request is too large" });
      const infos = (refused as ConnectError).findDetails(ErrorInfoSchema);
      expect(infos).toMatchObject([{ reason: "REQUEST_TOO_LARGE", domain: "nuncio" }]);
    }

    const leaving = new AbortController();
    const stream = client.sendStreamingMessage(saying("hold"), { signal: leaving.signal })[Symbol.asyncIterator]();
    await stream.next();
    leaving.abort();
    await eventually(() => handler.open.streams === 0 && handler.open.waits === 0);
  });
});

describe("Connect in JSON", () => {
  it("is read and written as on the JSON bindings", async () => {
    const { handler } = await start();
    const odd =
      '{"message":{"message_id":"m1","role":1,"parts":[{"data":{"__proto__":{"x":1},"n":null}}],"context_id":null,"later":true},"configuration":null}';
    const answer = await post("SendMessage", odd);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(JSON.parse(answer.text)).toMatchObject({ task: { status: { state: "TASK_STATE_WORKING" } } });
    expect(JSON.stringify(handler.calls[0]?.request)).toContain("__proto__");
    expect(JSON.parse((await post("ListTasks", {})).text)).toMatchObject({ nextPageToken: "", totalSize: 1 });
  });

  it("everything that is wrong comes at once, as on the other wires", async () => {
    const { handler } = await start();
    const answer = await post("SendMessage", {
      message: { role: "ROLE_ROBOT", parts: [{}, { text: 1 }] },
      configuration: { historyLength: 1.5 },
    });
    expect(answer.status).toBe(400);
    expect(refusal(answer)).toEqual({
      code: "invalid_argument",
      reason: undefined,
      fields: [
        "message.role ENUM",
        "message.parts[0] ONEOF",
        "message.parts[1].text TYPE",
        "message.messageId REQUIRED",
        "configuration.historyLength RANGE",
      ],
    });
    expect(handler.calls).toEqual([]);
  });

  it.each([
    ["no JSON", "{"],
    ["an array", "[]"],
    ["null", "null"],
    ["an abyss", `${"[".repeat(50_000)}${"]".repeat(50_000)}`],
  ])("%s is an invalid argument", async (_name, body) => {
    await start();
    expect(refusal(await post("SendMessage", body)).code).toBe("invalid_argument");
  });

  it("streams in frames of JSON, with the error at the end", async () => {
    await start();
    const body = Buffer.from(JSON.stringify({ message: { ...message, parts: [{ text: "late-fail" }] } }));
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]);
    const { text } = await post("SendStreamingMessage", new Uint8Array(frame), {
      "content-type": "application/connect+json",
    });
    expect(text).toContain('"task":{"id":"late-fail"');
    expect(text).toMatch(/\{"error":\{"code":"internal".*"details":.*"reason":"INVALID_AGENT_RESPONSE"/);
  });

  it("who isn't known is told what the server takes", async () => {
    await start({
      authenticate: async () => {
        throw new A2AError("UNAUTHENTICATED");
      },
    });
    const answer = await post("GetTask", { id: "a" });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="test"');
    expect(refusal(answer)).toMatchObject({ code: "unauthenticated", reason: "UNAUTHENTICATED" });
  });

  it("a body that is too large is refused, whether it says its length or not, and the connection goes on", async () => {
    await start();
    expect((await post("SendMessage", { message, x: "x".repeat(2_000_000) })).text).toContain("resource_exhausted");
    expect((await post("SendMessage", { message })).status).toBe(200);
  });

  it("a method that isn't there says so in the form of its wire", async () => {
    await start();
    expect(await post("Nothing", {})).toMatchObject({
      status: 404,
      text: '{"code":"unimplemented","message":"There is no such method here"}',
    });
    const web = await post("Nothing", "", { "content-type": "application/grpc-web+proto" });
    expect(web.headers.get("grpc-status")).toBe("12");
    const get = await fetch(`${host?.origin}/lf.a2a.v1.A2AService/GetTask`);
    expect(get.status).toBeGreaterThanOrEqual(400);
  });
});

it("gzip is taken and given", async () => {
  await start();
  const { gzipSync } = await import("node:zlib");
  const plain = JSON.stringify({ message: { ...message, metadata: { x: "y".repeat(5_000) } } });
  const answer = await post("SendMessage", new Uint8Array(gzipSync(plain)), { "content-encoding": "gzip" });
  expect(answer.status).toBe(200);
  const bomb = await post("SendMessage", new Uint8Array(gzipSync("x".repeat(50_000_000))), {
    "content-encoding": "gzip",
  });
  expect(bomb.text).toContain("resource_exhausted");
});

it("protobuf over HTTP/1.1 is what it is over HTTP/2", async () => {
  const { origin } = await start();
  await post("SendMessage", { message });
  const response = await fetch(`${origin}/lf.a2a.v1.A2AService/GetTask`, {
    method: "POST",
    headers: { "content-type": "application/proto" },
    body: new Uint8Array(toBinary(TaskSchema, create(TaskSchema, { contextId: "hello" }))), // field 2 is the id
  });
  expect(fromBinary(TaskSchema, new Uint8Array(await response.arrayBuffer())).id).toBe("hello" satisfies JsonValue);
});
