import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Composed, startComposed } from "./support/composed.js";

let composed: Composed;
beforeAll(async () => {
  composed = await startComposed();
});
afterAll(() => composed.close());

const service = "/lf.a2a.v1.A2AService";

/** What a call ended with: the number of gRPC, or the word of Connect. */
async function codeOf(method: string, type: string, body: Buffer, more: Record<string, string> = {}): Promise<string> {
  const session = connect(composed.url);
  try {
    const headers = {
      ":method": "POST",
      ":path": `${service}/${method}`,
      "content-type": type,
      te: "trailers",
      ...more,
    };
    const stream = session.request(headers);
    let code: unknown;
    stream.on("response", (head) => {
      code = head["grpc-status"];
    });
    stream.on("trailers", (trailers) => {
      code ??= trailers["grpc-status"];
    });
    stream.end(body);
    let text = "";
    for await (const chunk of stream) text += String(chunk);
    return String(
      code ?? /grpc-status: (\d+)/.exec(text)?.[1] ?? /"code":"(\w+)"/.exec(text)?.[1] ?? `nothing in ${text}`,
    );
  } finally {
    session.destroy();
  }
}

function envelope(message: Buffer, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const nothing = Buffer.alloc(0);
const malformed: readonly (readonly [what: string, bytes: Buffer, number: string, word: string])[] = [
  ["bytes that are no protobuf", envelope(Buffer.from([0xff, 0xff])), "3", "invalid_argument"],
  ["a text that is no UTF-8", envelope(Buffer.from([0x0a, 2, 0xff, 0xfe])), "3", "invalid_argument"],
  ["a group that never ends", envelope(Buffer.alloc(3_000, 0x0b)), "3", "invalid_argument"],
  ["a message that lacks everything", envelope(nothing), "3", "invalid_argument"],
  ["bytes in no envelope", Buffer.from([0xff, 0xff]), "3", "invalid_argument"],
  ["half an envelope", envelope(Buffer.alloc(9)).subarray(0, 8), "3", "invalid_argument"],
  ["an envelope larger than fits", Buffer.from([0, 255, 255, 255, 255]), "8", "resource_exhausted"],
  ["two messages", Buffer.concat([envelope(nothing), envelope(nothing)]), "12", "unimplemented"],
  ["no message", nothing, "12", "unimplemented"],
];
const wires = [
  ["application/grpc", "number"],
  ["application/grpc+proto", "number"],
  ["application/grpc-web+proto", "number"],
  ["application/connect+proto", "word"],
] as const;

describe.each(wires)("%s refuses", (type, form) => {
  test.each(malformed)("%s", async (_what, bytes, number, word) => {
    for (const method of ["SendMessage", "SendStreamingMessage"]) {
      if (form === "word" && method === "SendMessage") continue; // a unary call of Connect has no envelopes
      expect(await codeOf(method, type, bytes), method).toBe(form === "number" ? number : word);
    }
  });
});

test("a compressed message without saying how, and a deadline that is none, are the caller's or the wire's errors", async () => {
  expect(await codeOf("GetTask", "application/grpc", envelope(Buffer.alloc(3), 1))).toBe("13"); // as gRPC says
  const late = await codeOf("ListTasks", "application/grpc", envelope(nothing), { "grpc-timeout": "soon" });
  expect(late).toBe("3");
});

test("nothing of what was refused was done, none of it was an error of ours, and the next call is answered", async () => {
  expect(await codeOf("ListTasks", "application/grpc", envelope(nothing))).toBe("0");
  expect(composed.rows()).toEqual({ task: 0, event: 0, snapshot: 0, seen: 0 });
  expect(composed.errors).toEqual([]);
});
