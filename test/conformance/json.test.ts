import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { decodeJson } from "../../src/a2a/codec.js";
import { A2AService } from "../../src/a2a/types.js";
import { ask, saying } from "../support/asking.js";
import { exchange, requestOf } from "../support/exchange.js";
import { jsonTextsOf } from "../support/outcome.js";
import { served } from "../support/served.js";

const on = served();

/** What the golden transcripts show of answers: one JSON text each. */
function answersIn(file: string): { operation: string; json: unknown }[] {
  const text = readFileSync(new URL(`../transcripts/${file}`, import.meta.url), "utf8");
  return text.split(/^== /m).flatMap((scene) => {
    const operation = scene.slice(0, scene.indexOf(":"));
    return [...scene.matchAll(/^< (?:data: )?(\{.*\})$/gm)].map(([, json]) => ({
      operation,
      json: JSON.parse(json ?? "") as unknown,
    }));
  });
}

const answers = ["jsonrpc.txt", "http-json.txt", "connect-json.txt"].flatMap((file) =>
  answersIn(file).map((answer) => ({ ...answer, file })),
);

function walk(json: unknown, visit: (key: string, value: unknown) => void, isOurs = true): void {
  if (typeof json !== "object" || json === null) return;
  for (const [key, value] of Object.entries(json)) {
    if (isOurs && !Array.isArray(json)) visit(key, value);
    // The contents of metadata and data, and the names in maps, are the users' own.
    walk(value, visit, isOurs && !["metadata", "data", "securitySchemes", "schemes", "params"].includes(key));
  }
}

describe("everything that the golden transcripts show of the JSON wires", () => {
  test("has member names in camelCase (§5.5)", () => {
    expect(answers.length).toBeGreaterThan(150);
    for (const { json } of answers)
      walk(json, (key) => {
        expect(key).toMatch(/^(@type|[a-z][a-zA-Z0-9]*)$/);
      });
  });

  test("has states and roles by their names (§5.5), and times in UTC with milliseconds (§5.6.1)", () => {
    let [states, times] = [0, 0];
    for (const { json } of answers)
      walk(json, (key, value) => {
        if (key === "state" && ++states > 0) expect(value).toMatch(/^TASK_STATE_[A-Z_]+$/);
        if (key === "role") expect(value).toMatch(/^ROLE_(USER|AGENT)$/);
        if (key === "timestamp" && ++times > 0) expect(value).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      });
    expect([states > 50, times > 50]).toEqual([true, true]);
  });

  test("is what the contract says of an answer, every REQUIRED member and nothing unknown (§5.7)", () => {
    let judged = 0;
    for (const { operation, json, file } of answers) {
      const method = A2AService.methods.find(({ name }) => name === operation);
      const isRpc = file === "jsonrpc.txt";
      const result = isRpc ? (json as { result?: unknown }).result : json;
      const endsStream =
        file === "connect-json.txt" && method?.methodKind === "server_streaming" && JSON.stringify(json) === "{}";
      const isError = !isRpc && typeof json === "object" && json !== null && ("error" in json || "code" in json);
      if (method === undefined || result === undefined || isError || endsStream) continue;
      decodeJson(method.output, result, { exact: true, unknownFields: "reject" });
      judged++;
    }
    expect(judged).toBeGreaterThan(60);
  });
});

describe.each(["JSON-RPC", "HTTP+JSON", "Connect JSON"] as const)("a list over %s", (wire) => {
  const raw = async (request: object) => {
    const received = await exchange(on.url, wire, requestOf(wire, "ListTasks", request as never));
    const [text = "{}"] = jsonTextsOf(received);
    const json = JSON.parse(text) as { result?: Page } & Page;
    return json.result ?? json;
  };
  interface Page {
    readonly tasks: readonly Record<string, unknown>[];
    readonly nextPageToken: string;
    readonly pageSize: number;
    readonly totalSize: number;
  }

  test("has all four members, also when there is nothing, and an empty token on the last page (§3.1.4)", async () => {
    expect(await raw({ contextId: "nobody's" })).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  });

  test("has no artifacts unless they are asked for, and then the member is there even when it is empty (§3.1.4)", async () => {
    const contextId = `artifacts ${wire}`;
    await ask(on.url, wire, "SendMessage", saying("complete none", { contextId }));
    expect((await raw({ contextId, includeArtifacts: true })).tasks[0]).toHaveProperty("artifacts", []);
    await ask(on.url, wire, "SendMessage", saying("Ada", { contextId }));
    expect((await raw({ contextId, includeArtifacts: true })).tasks[0]).toHaveProperty("artifacts.0.parts");
    for (const request of [{ contextId }, { contextId, includeArtifacts: false }])
      for (const task of (await raw(request)).tasks) expect(task).not.toHaveProperty("artifacts");
  });

  test("of no history has no such member (§3.2.4)", async () => {
    const contextId = `history ${wire}`;
    await ask(on.url, wire, "SendMessage", saying("Ada", { contextId }));
    expect((await raw({ contextId, historyLength: 0 })).tasks[0]).not.toHaveProperty("history");
  });
});

test.each(["SendMessage", "SendStreamingMessage"] as const)(
  "text is UTF-8, in an answer of %s as in a stream (§14.1.1)",
  async (operation) => {
    for (const wire of ["JSON-RPC", "HTTP+JSON"] as const) {
      const { body, headers } = await exchange(on.url, wire, requestOf(wire, operation, saying("日本語 😀")));
      expect(body.toString("utf8")).toContain("Hello 日本語 😀");
      expect(headers["content-type"]).not.toMatch(/charset=(?!utf-8)/i);
    }
  },
);
