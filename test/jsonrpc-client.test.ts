import { describe, expect, test } from "vitest";
import { createJsonRpcClient } from "../src/bindings/jsonrpc/client.js";
import { all, failure, getTask, raw, subscribe } from "./support/json-clients.js";
import { http, streamHead } from "./support/raw-server.js";

describe("the JSON-RPC client", () => {
  const invalid: [string, object][] = [
    ["another id", { jsonrpc: "2.0", id: 99, result: { id: "t" } }],
    ["an id of another type", { jsonrpc: "2.0", id: "1", result: { id: "t" } }],
    ["no id", { jsonrpc: "2.0", result: { id: "t" } }],
    [
      "both a result and an error",
      { jsonrpc: "2.0", id: 1, result: { id: "t" }, error: { code: -32001, message: "x" } },
    ],
    ["neither", { jsonrpc: "2.0", id: 1 }],
    ["another version", { jsonrpc: "1.0", id: 1, result: { id: "t" } }],
    ["an error of another request", { jsonrpc: "2.0", id: 4, error: { code: -32001, message: "x" } }],
    ["a result that is no task", { jsonrpc: "2.0", id: 1, result: "t" }],
  ];
  test.each(invalid)("refuses an envelope with %s", async (_what, envelope) => {
    const server = await raw(() => http(200, "application/json", JSON.stringify(envelope)));
    expect((await failure(getTask(createJsonRpcClient({ url: server.url })))).reason).toBe("INVALID_AGENT_RESPONSE");
  });

  test("believes the envelope more than the HTTP status", async () => {
    const answers = [
      http(500, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 1, result: { id: "t" } })),
      http(404, "text/html", JSON.stringify({ jsonrpc: "2.0", id: 2, error: { code: -32602, message: "bad" } })),
      http(
        500,
        "application/json",
        JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "bad" } }),
      ),
      http(200, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 4, result: { id: "t" }, error: null })),
    ];
    const server = await raw((_request, count) => answers[count - 1]);
    const client = createJsonRpcClient({ url: server.url });
    expect((await getTask(client)).id).toBe("t");
    expect((await failure(getTask(client))).reason).toBe("INVALID_PARAMS");
    expect((await failure(getTask(client))).reason).toBe("PARSE_ERROR");
    expect((await getTask(client)).id).toBe("t");
  });

  const info = (reason: string, domain?: string) => ({
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    ...(domain !== undefined && { domain }),
  });
  const codes: [object, string][] = [
    [{ code: -32001, message: "x" }, "TASK_NOT_FOUND"],
    [{ code: -32009, message: "x", data: { supported: ["1.0"] } }, "VERSION_NOT_SUPPORTED"],
    [{ code: -32000, message: "x", data: [info("TASK_NOT_CANCELABLE", "a2a-protocol.org")] }, "TASK_NOT_CANCELABLE"],
    [{ code: -32001, message: "x", data: [info("QUOTA_EXHAUSTED", "example.com")] }, "TASK_NOT_FOUND"],
    [{ code: -32099, message: "x", data: [info("NEWER_ERROR", "a2a-protocol.org")] }, "NEWER_ERROR"],
    [{ code: -32029, message: "not ours" }, "INTERNAL"],
    [{ code: -32031, message: "x", data: [info("DRAINING", "nuncio")] }, "DRAINING"],
    [{ code: 5, message: "x" }, "INTERNAL"],
    [{ message: 5 }, "INTERNAL"],
    ["a text" as unknown as object, "INTERNAL"],
    [{ code: -32004, message: "x".repeat(1_000_000), data: [null, 5, { "@type": 5 }] }, "UNSUPPORTED_OPERATION"],
  ];
  test.each(codes)("reads the error %j", async (error, reason) => {
    const server = await raw(() => http(200, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 1, error })));
    const thrown = await failure(getTask(createJsonRpcClient({ url: server.url })));
    expect(thrown.reason).toBe(reason);
    expect(thrown.message.length).toBeLessThan(2_000);
  });

  test("refuses a stream's frame that answers another request, and one without an envelope", async () => {
    for (const frame of [{ jsonrpc: "2.0", id: 2, result: { task: { id: "t" } } }, { task: { id: "t" } }]) {
      const server = await raw(() => `${streamHead}data: ${JSON.stringify(frame)}\n\n`);
      expect((await failure(all(subscribe(createJsonRpcClient({ url: server.url }))))).reason).toBe(
        "INVALID_AGENT_RESPONSE",
      );
    }
  });

  test("refuses an ordinary answer to a stream, and reads an error that came as one", async () => {
    const answers = [
      http(200, "application/json", JSON.stringify({ jsonrpc: "2.0", id: 1, result: { task: { id: "t" } } })),
      http(200, undefined, JSON.stringify({ jsonrpc: "2.0", id: 2, error: { code: -32004, message: "terminal" } })),
    ];
    const server = await raw((_request, count) => answers[count - 1]);
    const client = createJsonRpcClient({ url: server.url });
    expect((await failure(all(subscribe(client)))).reason).toBe("INVALID_AGENT_RESPONSE");
    expect((await failure(all(subscribe(client)))).reason).toBe("UNSUPPORTED_OPERATION");
  });
});
