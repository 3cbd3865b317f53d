import { A2AError, agent } from "nuncio";
import { describe, expect, test } from "vitest";
import { errorTable } from "../../src/a2a/errors.js";
import { ask, tell, verdictOf } from "../support/asking.js";
import { exchange, requestOf, WIRES } from "../support/exchange.js";
import { served } from "../support/served.js";

const thrower = agent({
  name: "Thrower",
  description: "Throws",
  handler: {
    getTask: async ({ id }) => {
      if (id === "unforeseen") throw new Error("secret: postgres://u:p@h");
      throw new A2AError(id);
    },
  },
});
const on = served({}, thrower);

/** §9.5, with the words that it has for them. */
const standard: [string, string, number, string][] = [
  ["no JSON", '{"jsonrpc":', -32700, "Invalid JSON payload"],
  ["no request", '{"jsonrpc":"1.0","id":1,"method":"GetTask"}', -32600, "Request payload validation error"],
  ["no such method", '{"jsonrpc":"2.0","id":1,"method":"GetTasks"}', -32601, "Method not found"],
  ["wrong parameters", '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}', -32602, "Invalid parameters"],
  [
    "a failure of ours",
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"unforeseen"}}',
    -32603,
    "Internal error",
  ],
];

test.each(standard)(
  "JSON-RPC says of %s its standard code and begins with its standard message (§9.5)",
  async (_what, body, code, message) => {
    const sent = requestOf("JSON-RPC", "GetTask", {});
    const { error } = await tell(on.url, "JSON-RPC", "GetTask", { ...sent, body: Buffer.from(body) });
    expect(error?.code).toBe(code);
    expect(error?.message.startsWith(message)).toBe(true);
  },
);

test("HTTP+JSON says the HTTP status twice, and the name of its kind (§11.6)", async () => {
  for (const [reason, { http }] of Object.entries(errorTable)) {
    if (reason === "PARSE_ERROR" || reason === "METHOD_NOT_ALLOWED") continue;
    const { status, body } = await exchange(on.url, "HTTP+JSON", requestOf("HTTP+JSON", "GetTask", { id: reason }));
    const { error } = JSON.parse(body.toString()) as { error: { code: number; status: string; message: string } };
    expect([reason, status, error.code]).toEqual([reason, http, http]);
    expect(error.status).toMatch(/^[A-Z_]+$/);
    expect(error.message).not.toBe("");
  }
});

describe.each(WIRES)("over %s", (wire) => {
  test("every error has a code, a message, and details that say what they are (§3.3.2)", async () => {
    for (const reason of Object.keys(errorTable)) {
      const { error } = await ask(on.url, wire, "GetTask", { id: reason }); // a detail without @type throws here
      expect(error?.code).toBeDefined();
      expect(error?.message).not.toBe("");
      const row = errorTable[reason as keyof typeof errorTable];
      if ("domain" in row) expect([error?.reason, error?.domain]).toEqual([reason, row.domain]);
    }
  });

  test("what nobody foresaw is an internal error that says nothing of its cause, with an id for the log (§3.3.2)", async () => {
    const outcome = await ask(on.url, wire, "GetTask", { id: "unforeseen" });
    expect(verdictOf(outcome)).toBe("INTERNAL");
    expect(JSON.stringify(outcome)).not.toMatch(/postgres|secret/);
    expect(outcome.error?.message).toContain(outcome.error?.metadata.correlationId);
  });

  test("an operation that isn't there is the wire's own refusal, not a page (§5.1)", async () => {
    const sent = requestOf(wire, "GetTask", { id: "t" });
    const path = wire === "HTTP+JSON" ? "/a2a/task/t" : sent.path.replace("GetTask", "PauseTask");
    const body = Buffer.from(sent.body.toString("latin1").replace("GetTask", "PauseTask"), "latin1");
    const received = await exchange(on.url, wire, { ...sent, path, body });
    if (wire === "JSON-RPC") expect(received.body.toString()).toContain("-32601");
    else if (wire === "HTTP+JSON")
      expect([received.status, received.body.toString()]).toEqual([404, expect.stringContaining('"NOT_FOUND"')]);
    else if (wire.startsWith("gRPC")) expect({ ...received.headers, ...received.trailers }["grpc-status"]).toBe("12");
    else expect([received.status, received.body.toString()]).toEqual([404, expect.stringContaining("unimplemented")]);
  });
});
