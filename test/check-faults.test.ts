import type { Agent } from "nuncio";
import { describe, expect, test } from "vitest";
import trip from "../examples/trip.js";
import { checkAgent, type Report } from "../src/check/check.js";
import { junitXml } from "../src/check/report-junit.js";
import type { RuleId } from "../src/check/rules.js";
import { type Json, type Passing, startTampering, type Tampering } from "./support/tampering-agent.js";

async function checked(tampering: Tampering, timeoutMs: number, agent?: Agent): Promise<Report> {
  await using served = await startTampering(tampering, agent);
  return await checkAgent(served.url, { bindings: ["jsonrpc"], timeoutMs });
}

const failed = ({ findings }: Report) => findings.filter(({ verdict }) => verdict === "failed").map(({ rule }) => rule);

type Path = readonly (string | number)[];
/** Sets what lies at a path, where there is something; `undefined` removes it. */
function set(json: unknown, path: Path, value: unknown): void {
  const [step, ...rest] = path;
  if (typeof json !== "object" || json === null || step === undefined) return;
  const at = json as Record<string | number, unknown>;
  if (rest.length > 0) set(at[step], rest, value);
  else if (value === undefined) delete at[step];
  else at[step] = value;
}

/** The same, of the changed JSON. */
function having<T>(json: T, path: Path, value: unknown): T {
  set(json, path, value);
  return json;
}

/** Changes the answers to one method. */
const answersTo =
  (wanted: string, change: (answer: Json, params: Json) => unknown): Tampering["answer"] =>
  (answer, { method, params }) =>
    method === wanted ? (change(answer, params) ?? answer) : answer;
const put = (method: string, path: Path, value: unknown): Tampering => ({
  answer: answersTo(method, (answer) => set(answer, path, value)),
});
/** Gives another error code wherever one was given. */
const recode = (from: number, to: number, only?: string): Tampering => ({
  answer: (answer, { method }) => {
    if ((answer.error as Json | undefined)?.code === from && (only === undefined || method === only))
      set(answer, ["error", "code"], to);
    return answer;
  },
});
const events = (wanted: string, change: (result: Json, index: number) => Json[]): Tampering => ({
  event: (result, index, { method }) => (method === wanted ? change(result, index) : [result]),
});
const isLast = ({ statusUpdate }: Json) => JSON.stringify(statusUpdate ?? "").includes("TASK_STATE_COMPLETED");
const withoutFirst = (result: Json, index: number) => (index === 0 ? [] : [result]);
const isBlocking = ({ configuration }: Json) => configuration === undefined;
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
const accepted = { task: { id: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } } };
const accept = (when: (passing: Passing, answer: Json) => boolean): Tampering => ({
  answer: ({ id, ...answer }, passing) =>
    when(passing, answer) ? { jsonrpc: "2.0", id: id ?? null, result: accepted } : { id, ...answer },
});
const sent = ({ params }: Passing) => (params.message ?? {}) as Json;
const lists = (change: (result: Json & { tasks: Json[] }, params: Json) => void): Tampering => ({
  answer: answersTo("ListTasks", (answer, params) => {
    if (answer.result !== undefined) change(answer.result as Json & { tasks: Json[] }, params);
  }),
});

/** The time to filter by counts only when it is far away. */
function sinceIsIgnored(): Tampering {
  let all: unknown;
  return lists((result, { statusTimestampAfter: since, ...params }) => {
    if (Object.keys(params).length === 1 && since === undefined) all = result.tasks;
    else if (typeof since === "string" && !since.startsWith("2999")) set(result, ["tasks"], all);
  });
}

/** The second cancel of a task is answered with an error. */
const cancelAgain = (code: number): Tampering => {
  const canceled = new Set<unknown>();
  return {
    answer: answersTo("CancelTask", ({ id }, params) => {
      if (canceled.has(params.id)) return { jsonrpc: "2.0", id, error: { code, message: "no" } };
      canceled.add(params.id);
      return undefined;
    }),
  };
};

const faults: [rule: RuleId, tampering: Tampering][] = [
  ["payload.contract", put("GetTask", ["result", "status", "state"], 3)],
  ["payload.contract", put("ListTasks", ["result", "nextPageToken"], undefined)],
  ["payload.unknown-fields", put("GetTask", ["result", "createdAt"], "now")],
  ["jsonrpc.envelope", put("GetTask", ["jsonrpc"], undefined)],
  ["jsonrpc.envelope", { answer: (answer) => having(answer, ["error", "data"], { taskId: "t" }) }],
  ["jsonrpc.id", put("GetTask", ["id"], "another")],
  ["jsonrpc.content-type", { headers: { "content-type": "text/plain" } }],
  ["jsonrpc.error-info", { answer: (answer) => having(answer, ["error", "data"], undefined) }],
  ["jsonrpc.parse-error", recode(-32700, -32603)],
  ["jsonrpc.invalid-request", recode(-32600, -32602)],
  ["jsonrpc.method-not-found", recode(-32601, -32602)],
  ["jsonrpc.invalid-params", recode(-32602, -32603, "GetTask")],
  ["stream.content-type", { headers: { "content-type": "application/octet-stream" } }],
  ["stream.error", events("SendStreamingMessage", () => [])],
  [
    "send.answers",
    { answer: answersTo("SendMessage", ({ result, ...rest }) => (result ? { ...rest, result: {} } : undefined)) },
  ],
  [
    "send.blocks",
    {
      answer: answersTo("SendMessage", (answer, params) => {
        if (isBlocking(params)) set(answer, ["result", "task", "status", "state"], "TASK_STATE_WORKING");
      }),
    },
  ],
  ["send.complete", put("SendMessage", ["result", "task", "artifacts"], undefined)],
  [
    "send.immediately",
    {
      answer: answersTo("SendMessage", ({ result, ...rest }, params) =>
        isBlocking(params) || !result ? undefined : { ...rest, error: { code: -32603, message: "no" } },
      ),
    },
  ],
  ["send.complete", put("SendMessage", ["result", "task", "artifacts", 0, "parts"], [{ text: "only the beginning" }])],
  ["message.role", put("SendMessage", ["result", "task", "status", "message", "role"], "ROLE_USER")],
  [
    "context.kept",
    events("SendStreamingMessage", (result) => [
      JSON.parse(JSON.stringify(result).replace(/"contextId":"[^"]+"/g, '"contextId":"new"')),
    ]),
  ],
  ["context.mismatch", accept((passing) => passing.method === "SendMessage" && sent(passing).contextId !== undefined)],
  ["task.same", put("GetTask", ["result", "id"], "another")],
  ["task.same", put("GetTask", ["result", "status", "state"], "TASK_STATE_FAILED")],
  [
    "history.zero",
    {
      answer: answersTo("GetTask", (answer, params) => {
        if (params.historyLength === 0) set(answer, ["result", "history"], [message]);
      }),
    },
  ],
  ["history.most", put("GetTask", ["result", "history"], [message, message])],
  ["list.finds", lists((result) => void result.tasks.splice(0))],
  ["list.finds", lists((result) => set(result, ["tasks", 0, "contextId"], "another"))],
  ["list.artifacts-left-out", lists((result) => set(result, ["tasks", 0, "artifacts"], []))],
  [
    "list.artifacts",
    lists((result, params) => {
      if (params.includeArtifacts) set(result, ["tasks", 0, "artifacts"], []);
      if (params.includeArtifacts) set(result, ["tasks", 1, "artifacts"], []);
    }),
  ],
  ["list.sorted", lists((result) => void result.tasks.reverse())],
  ["list.pages", lists((result) => set(result, ["pageSize"], 50))],
  ["list.pages", lists((result) => set(result, ["nextPageToken"], ""))],
  ["list.total", lists((result) => set(result, ["totalSize"], 0))],
  ["list.total", lists((result) => set(result, ["totalSize"], 99))],
  ["list.total", lists((result) => set(result, ["totalSize"], result.tasks.length))],
  [
    "list.filters",
    lists((result, params) => {
      if (params.status !== undefined) result.tasks.splice(0);
    }),
  ],
  [
    "list.filters",
    lists((result, params) => {
      if (params.statusTimestampAfter !== undefined) result.tasks.splice(0);
    }),
  ],
  ["list.filters", sinceIsIgnored()],
  ["stream.first", events("SendStreamingMessage", withoutFirst)],
  [
    "stream.first",
    events("SendStreamingMessage", (result, index) => [
      index === 0 ? { message: { ...message, role: "ROLE_AGENT" } } : result,
    ]),
  ],
  [
    "stream.ids",
    events("SendStreamingMessage", (result, index) => [having(result, ["statusUpdate", "taskId"], `t${index}`)]),
  ],
  ["stream.closes", events("SendStreamingMessage", (result) => (isLast(result) ? [result, result] : [result]))],
  ["stream.lasts", events("SendStreamingMessage", (result) => (isLast(result) ? [] : [result]))],
  [
    "stream.same",
    events("SendStreamingMessage", (result) => [
      having(result, ["artifactUpdate", "artifact", "parts"], [{ text: "z" }]),
    ]),
  ],
  ["subscribe.first", events("SubscribeToTask", withoutFirst)],
  ["subscribe.ends", events("SubscribeToTask", (result, index) => (index === 0 ? [result] : []))],
  ["cancel.task", put("CancelTask", ["result", "id"], "another")],
  ["cancel.again", cancelAgain(-32603)],
  ["ended.send", recode(-32004, -32602, "SendMessage")],
  ["ended.subscribe", recode(-32004, -32603, "SubscribeToTask")],
  ["ended.cancel", recode(-32002, -32004)],
  ["unknown.task", recode(-32001, -32602)],
  ["unknown.task", accept(({ method }, answer) => method === "CancelTask" && answer.error !== undefined)],
  ["invalid.required", accept((passing) => passing.method === "SendMessage" && sent(passing).messageId === undefined)],
  ["invalid.values", accept((passing) => passing.method === "ListTasks" && passing.params.pageSize === 101)],
  [
    "invalid.details",
    {
      answer: (answer) =>
        (answer.error as Json | undefined)?.code === -32602 ? having(answer, ["error", "data"], []) : answer,
    },
  ],
  [
    "ignored.unknown-fields",
    {
      answer: answersTo("GetTask", ({ id }, params) =>
        "fieldOfTheFuture" in params ? { jsonrpc: "2.0", id, error: { code: -32602, message: "no" } } : undefined,
      ),
    },
  ],
  ["capability.streaming", { card: (card) => having(card, ["capabilities", "streaming"], false) }],
  ["capability.push", recode(-32003, -32601)],
  ["capability.extended-card", recode(-32004, -32601, "GetExtendedAgentCard")],
  ["extended-card.answers", { card: (card) => having(card, ["capabilities", "extendedAgentCard"], true) }],
  [
    "capability.extensions",
    { card: (card) => having(card, ["capabilities", "extensions"], [{ uri: "urn:x", required: true }]) },
  ],
  ["version.unsupported", recode(-32009, -32600)],
  [
    "version.patch",
    {
      answer: ({ id, ...answer }, { version }) =>
        version === "1.0.99" ? { jsonrpc: "2.0", id, error: { code: -32009, message: "no" } } : { id, ...answer },
    },
  ],
  ["version.absent", accept(({ version, method }) => version === "" && method === "ListTasks")],
  [
    "version.query",
    {
      answer: ({ id, ...answer }, { version, method }) =>
        version === "" && method === "ListTasks"
          ? { jsonrpc: "2.0", id, error: { code: -32009, message: "no" } }
          : { id, ...answer },
    },
  ],
  ["card.contract", { card: (card) => having(card, ["skills"], undefined) }],
  ["card.unknown-fields", { card: (card) => ({ ...card, protocolVersion: "1.0" }) }],
  ["card.content-type", { cardHeaders: { "content-type": "text/html" } }],
  ["card.cache-control", { cardHeaders: { "cache-control": "no-store" } }],
  ["card.conditional", { cardHeaders: { etag: '"another"' } }],
];

test("nothing fails where nothing is changed", async () => {
  const report = await checked({}, 10_000);
  expect(failed(report)).toEqual([]);
  const unchecked = report.findings.filter(({ verdict }) => verdict === "not-checked").map(({ rule }) => rule);
  expect(unchecked.sort()).toEqual(["card.tls", "equal.errors", "equal.list", "equal.task", "follow-up.same"]);
});

describe("a fault is found:", () => {
  test.each(faults)("%s", async (rule, tampering) => {
    expect(failed(await checked(tampering, 1_500))).toContain(rule);
  });

  test.each<[RuleId, Tampering]>([
    [
      "follow-up.same",
      {
        answer: answersTo("SendMessage", (answer, params) => {
          if ((params.message as Json | undefined)?.taskId !== undefined)
            set(answer, ["result", "task", "id"], "another");
        }),
      },
    ],
    [
      "context.mismatch",
      accept((passing) => sent(passing).taskId !== undefined && sent(passing).contextId !== undefined),
    ],
  ])("%s of a task that asks", async (rule, tampering) => {
    expect(failed(await checked({}, 1_500, trip))).toEqual([]);
    expect(failed(await checked(tampering, 1_500, trip))).toContain(rule);
  });
});

describe("what one can't know isn't said:", () => {
  const found = ({ findings }: Report, wanted: RuleId) => findings.find(({ rule }) => rule === wanted);

  test("a message of another context that was refused for something else", async () => {
    const report = await checked(
      {
        answer: answersTo("SendMessage", (answer, params) => {
          if ((params.message as Json | undefined)?.contextId !== undefined) set(answer, ["error", "code"], -32004);
        }),
      },
      10_000,
    );
    const because = expect.stringContaining("perhaps for something else: error -32004");
    expect(found(report, "context.mismatch")).toMatchObject({ verdict: "not-checked", because });
  });

  test("how a task is followed and canceled that ends at once, and what to do is", async () => {
    const report = await checked(
      {
        answer: (answer, { method }) => {
          set(answer, ["result", "task", "status", "state"], "TASK_STATE_COMPLETED");
          if (method === "GetTask") set(answer, ["result", "status", "state"], "TASK_STATE_COMPLETED");
          return answer;
        },
      },
      10_000,
    );
    for (const rule of ["subscribe.first", "subscribe.ends", "cancel.task", "cancel.again"] as const)
      expect(found(report, rule)).toMatchObject({
        verdict: "not-checked",
        because: expect.stringContaining("with --text"),
      });
  });
});

describe("a check", () => {
  test("subscribes at once, so that short tasks can be followed as well", async () => {
    const methods: string[] = [];
    await checked(
      {
        answer: (answer, { method, params }) => {
          methods.push(method === "SendMessage" && !isBlocking(params) ? "SendMessage at once" : method);
          return answer;
        },
        event: (result, index, { method }) => {
          if (index === 0) methods.push(method);
          return [result];
        },
      },
      10_000,
    );
    expect(methods.slice(methods.indexOf("SendMessage at once")).slice(0, 2)).toEqual([
      "SendMessage at once",
      "SubscribeToTask",
    ]);
  });

  test("leaves nothing behind, not even what a message made that should have been refused", async () => {
    const canceled: unknown[] = [];
    const status = { state: "TASK_STATE_WORKING" };
    await checked(
      {
        answer: ({ id, ...answer }, passing) => {
          if (passing.method === "CancelTask") canceled.push(passing.params.id);
          const isInvalid = passing.method === "SendMessage" && sent(passing).messageId === undefined;
          if (!isInvalid) return { id, ...answer };
          return { jsonrpc: "2.0", id: id ?? null, result: { task: { id: "lenient", contextId: "c", status } } };
        },
      },
      10_000,
    );
    expect(canceled.filter((id) => id === "lenient")).toEqual(["lenient"]);
  });

  test("fails in JUnit what it exits for, and no more", async () => {
    const report = await checked({ cardHeaders: { "cache-control": "no-store" } }, 10_000);
    expect(failed(report)).toEqual(["card.cache-control"]);
    expect(junitXml(report, true)).toContain('<failure type="SHOULD"');
    const lenient = junitXml(report, false);
    expect(lenient).toMatch(/<testsuites [^>]*failures="0"/);
    expect(lenient).not.toContain("<failure");
    expect(lenient).toContain("<system-out>SHOULD&#10;expected: Cache-Control");
  });
});
