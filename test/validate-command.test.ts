import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { TaskSchema, TaskState } from "nuncio/types";
import { afterAll, describe, expect, test } from "vitest";
import { judgePayload } from "../src/check/judge-payload.js";
import { readCapture } from "../src/check/read-capture.js";
import { nuncio } from "./support/command.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-validate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } };
const rpc = { jsonrpc: "2.0", id: 1 };
const paths = (json: unknown) => judgePayload(json)?.violations.map(({ path, rule }) => `${path} ${rule}`);

describe("nuncio validate", () => {
  test("says what it took a file for, and that it is valid", async () => {
    const ran = await nuncio("validate", file("task.json", JSON.stringify(task, null, 2)));
    expect(ran).toEqual({ code: 0, stdout: "Task (guessed): valid\n", stderr: "" });
  });

  test("lists what is wrong with path, rule and section, and exits 1", async () => {
    const { code, stdout } = await nuncio(
      "validate",
      file("bad.json", '{"id":"t","status":{"state":3}}'),
      "--type",
      "Task",
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Task: 1 violation\n {2}status\.state {2}ENUM §5\.5 {2}must be one of TASK_STATE_SUBMITTED/,
    );
  });

  test("reads a stream of JSON-RPC from a pipe, as curl left it", async () => {
    const bin = fileURLToPath(new URL("../bin/nuncio.js", import.meta.url));
    const child = spawn(process.execPath, [bin, "validate", "--json"], { stdio: ["pipe", "pipe", "inherit"] });
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    const frame = (result: object) => `id: 7\ndata: ${JSON.stringify({ ...rpc, result })}\n\n`;
    child.stdin.end(`${frame({ task })}: \n\n${frame({ statusUpdate: { taskId: "t" } }).trimEnd()}`);
    expect((await once(child, "close"))[0]).toBe(1);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { event: 1, type: "StreamResponse", violations: [] },
      {
        event: 2,
        type: "StreamResponse",
        violations: [{ path: "result.statusUpdate.contextId" }, { path: "result.statusUpdate.status" }],
      },
    ]);
  });

  test("judges each line by itself, also those after one that says nothing of what it is", async () => {
    const lines = [JSON.stringify(task), '{"foo":1}', "{bad", "[]", JSON.stringify({ ...task, id: "" })];
    const { code, stdout, stderr } = await nuncio("validate", file("some.ndjson", lines.join("\n")));
    expect([code, stderr]).toEqual([1, ""]);
    expect(stdout.split("\n").filter((line) => !line.startsWith(" "))).toEqual([
      "line 1: Task (guessed): valid",
      "line 2: unknown: 1 violation",
      "line 3: unknown: 1 violation",
      "line 4: unknown: 1 violation",
      "line 5: Task (guessed): 1 violation",
      "",
    ]);
    expect(stdout).toContain("  (whole)  TYPE §4  has no member that any message of A2A 1.0 has");
  });

  test("counts the events of a stream, not its lines", async () => {
    const stream = `data: ${JSON.stringify({ task })}\n\ndata: "x"\n\n`;
    const { stdout } = await nuncio("validate", file("stream.txt", stream));
    expect(stdout).toMatch(/^event 1: StreamResponse: valid\nevent 2: StreamResponse: 1 violation\n/);
  });

  test.each([
    [["nothing.json"], "There is no file nothing.json"],
    [["--type", "Tusk", "README.md"], 'A2A 1.0 has no message "Tusk"'],
    [["a", "b"], "Usage: nuncio validate [FILE]"],
    [["--bogus"], "Unknown option '--bogus'"],
  ])("refuses %j in one line", async (args, says) => {
    const { code, stderr } = await nuncio("validate", ...args);
    expect([code, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain(says);
  });

  test("asks for the type where nothing says it", async () => {
    const bytes = toBinary(TaskSchema, create(TaskSchema, { id: "t", status: { state: TaskState.WORKING } }));
    for (const [name, content] of [
      ["task.bin", bytes],
      ["empty.json", "{}"],
      ["none.json", '{"foo":1}'],
    ] as const) {
      const path = file(name, content);
      expect(await nuncio("validate", path)).toMatchObject({ code: 2, stderr: expect.stringContaining("give --type") });
    }
    expect(await nuncio("validate", file("task.bin", bytes), "--type", "Task")).toMatchObject({ code: 0 });
  });
});

describe("a payload is taken for", () => {
  test.each([
    [task, "Task", []],
    [{ id: "t" }, "GetTaskRequest", ["CancelTaskRequest", "SubscribeToTaskRequest"]],
    [{ task }, "SendMessageResponse", ["StreamResponse"]],
    [{ statusUpdate: {} }, "StreamResponse", []],
    [{ message: {}, configuration: {} }, "SendMessageRequest", []],
    [{ messageId: "m", role: "ROLE_USER", parts: [] }, "Message", []],
    [{ name: "n", description: "d", skills: [] }, "AgentCard", []],
    [{ tasks: [], nextPageToken: "" }, "ListTasksResponse", []],
    [{ text: "x" }, "Part", []],
    [{ ...rpc, result: { task } }, "SendMessageResponse", ["StreamResponse"]],
  ])("%j", (json, type, alternatives) => {
    expect(judgePayload(json)).toMatchObject({ type, alternatives });
  });

  test("what its method says", () => {
    expect(judgePayload({ ...rpc, method: "ListTasks" })).toEqual({ type: "ListTasksRequest", violations: [] });
    expect(paths({ ...rpc, method: "GetTask", params: { id: "" } })).toEqual(["params.id REQUIRED"]);
    expect(paths({ ...rpc, method: "message/send", params: {} })).toEqual(["method METHOD"]);
    expect(paths({ jsonrpc: 2, method: "GetTask", params: [] })).toEqual([
      "jsonrpc JSONRPC",
      "id REQUIRED",
      "params TYPE",
    ]);
  });

  test.each([
    ["hello", "result TYPE"],
    [[], "result TYPE"],
    [null, "result TYPE"],
    [{ foo: 1 }, "result TYPE"],
  ])("an answer, and its result %j is none of any operation", (result, found) => {
    expect(judgePayload({ ...rpc, result })).toMatchObject({ type: "JSON-RPC answer" });
    expect(paths({ ...rpc, result })).toEqual([found]);
    expect(paths({ ...rpc, result: {} })).toEqual([]); // a deletion's
  });

  test("what is told, inside an envelope as well", () => {
    const schema = TaskSchema;
    const told = (json: unknown) =>
      judgePayload(json, { schema })?.violations.map(({ path, rule }) => `${path} ${rule}`);
    expect(judgePayload({ ...rpc, result: task }, { schema })).toEqual({ type: "Task", violations: [] });
    expect(judgePayload({ ...rpc, method: "GetTask", params: { id: "t" } }, { schema })?.type).toBe("Task");
    expect(told({ ...rpc, method: "GetTask", params: { id: "t" } })).toEqual(["params.status REQUIRED"]);
    expect(told({ error: { code: 404, message: "m" } })).toEqual([
      "error UNKNOWN_FIELD",
      "id REQUIRED",
      "status REQUIRED",
    ]);
    expect(told({ ...rpc, error: { code: -32603, message: "m" } })).toEqual(["result REQUIRED"]);
  });

  test("an error of A2A's, which says what it is", () => {
    const info = (reason: string) => ({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason,
      domain: "a2a-protocol.org",
    });
    expect(paths({ ...rpc, error: { code: -32001, message: "m" } })).toEqual(["error.data ERROR_INFO"]);
    expect(paths({ ...rpc, error: { code: -32602, message: "m" } })).toEqual([]);
    const data = [info("TASK_NOT_CANCELABLE")];
    expect(paths({ ...rpc, error: { code: -32002, message: "m", data } })).toEqual([]);
    expect(paths({ ...rpc, error: { code: -32001, message: "m", data } })).toEqual(["error.code CODE"]);
    expect(paths({ error: { code: 500, message: "m", details: [info("TASK_NOT_FOUND")] } })).toEqual([
      "error.code CODE",
    ]);
  });

  test("an error, whose shape is judged", () => {
    const info = {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "TASK_NOT_FOUND",
      domain: "a2a-protocol.org",
    };
    const bad = {
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field: "id", description: "x" }],
    };
    expect(judgePayload({ ...rpc, error: { code: -32001, message: "m", data: [info, bad] } })).toEqual({
      type: "JSON-RPC error",
      violations: [],
    });
    expect(paths({ ...rpc, error: { code: "1", data: { taskId: "t" } }, result: {} })).toContain(" ONEOF");
    expect(paths({ jsonrpc: "2.0", error: { code: 1.5, data: {} } })).toEqual([
      "id REQUIRED",
      "error.code TYPE",
      "error.message REQUIRED",
      "error.data TYPE",
    ]);
    const details = [
      { ...info, domain: "x" },
      { ...info, reason: "TaskNotFoundError", metadata: { n: 1 } },
      { fieldViolations: 1 },
    ];
    expect(paths({ error: { code: 404, message: "m", details } })).toEqual([
      "error.details[0].domain DOMAIN",
      "error.details[1].reason REASON",
      'error.details[1].metadata["n"] TYPE',
      "error.details[2] TYPE",
    ]);
    expect(paths({ error: { code: 404, message: "m", details: [{ ...bad, fieldViolations: [{}, 1] }] } })).toHaveLength(
      2,
    );
  });
});

describe("a capture", () => {
  const read = (text: string) => readCapture(new TextEncoder().encode(text), true);
  test("is lines of JSON, one of them broken", async () => {
    const captured = await read('{"a":1}\r\n\n{bad\n[1]\n');
    expect(captured.map(({ line, json, broken }) => [line, json ?? broken !== undefined])).toEqual([
      [1, { a: 1 }],
      [3, true],
      [4, [1]],
    ]);
  });
  test("is lines of JSON, the first of them cut off", async () => {
    expect((await read('ull}\n{"a":1}\n{"b":2}')).map(({ line, json }) => [line, json])).toEqual([
      [1, undefined],
      [2, { a: 1 }],
      [3, { b: 2 }],
    ]);
  });
  test("is one JSON over many lines, broken or not", async () => {
    expect(await read('{\n"a":\n1}')).toEqual([{ json: { a: 1 } }]);
    expect(await read('{\n"a":\n')).toEqual([{ broken: expect.any(String) }]);
    expect(await read("hello")).toEqual([{ broken: expect.any(String) }]);
    expect(await read(" \n")).toEqual([]);
    expect(await read(`${"[".repeat(10_000)}`)).toEqual([{ broken: expect.stringContaining("nested deeper") }]);
  });
  test("is the events of a stream, comments left out, the last one cut off", async () => {
    const captured = await read('event: x\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: ping\r\n\r\ndata: {"b":2}');
    expect(captured.map(({ json }) => json)).toEqual([{ a: 1 }, { b: 2 }]);
  });
});
