import type { JsonObject } from "@bufbuild/protobuf";
import { A2AError, type Agent, type AgentDefinition, agent, serve } from "nuncio";
import { connect } from "nuncio/client";
import type { MessageJson } from "nuncio/types";
import { describe, expect, test } from "vitest";
import { checkAgent } from "../src/check/check.js";
import { ask, saying, verdictOf } from "./support/asking.js";
import { type Operation, WIRES } from "./support/exchange.js";
import { served } from "./support/served.js";
import { BINDINGS, quiet, says } from "./support/small-agents.js";

type Operations = AgentDefinition["handler"] & object;

const message: MessageJson = { messageId: "m", contextId: "c", role: "ROLE_AGENT", parts: [{ text: "x" }] };
const answers = {
  sendMessage: () => ({ message }),
  async *sendStreamingMessage() {
    yield { message };
  },
} satisfies Operations;
const subscribes: Operations = {
  async *subscribeToTask({ id }) {
    yield { task: { id, contextId: "c", status: { state: "TASK_STATE_COMPLETED" } } };
  },
};
const pushes: Operations = {
  createTaskPushNotificationConfig: (config) => config,
  getTaskPushNotificationConfig: ({ taskId, id }) => ({ taskId, id, url: "https://hook.example/" }),
  listTaskPushNotificationConfigs: () => ({}),
  deleteTaskPushNotificationConfig: () => ({}),
};

const byHand = (handler: Operations, facts: Partial<AgentDefinition> = {}): Agent =>
  agent({ name: "ByHand", description: "By hand", handler, ...facts });

const PUSH: readonly [Operation, JsonObject][] = [
  ["CreateTaskPushNotificationConfig", { taskId: "t", url: "https://hook.example/" }],
  ["GetTaskPushNotificationConfig", { taskId: "t", id: "c" }],
  ["ListTaskPushNotificationConfigs", { taskId: "t" }],
  ["DeleteTaskPushNotificationConfig", { taskId: "t", id: "c" }],
];

describe("the card of an agent whose operations are written by hand", () => {
  const { deleteTaskPushNotificationConfig: _, ...most } = pushes;
  test.each<[string, Operations, string[]]>([
    ["nothing but an answer", { sendMessage: () => ({ message }) }, []],
    ["streams", answers, ["streaming"]],
    ["a subscription alone", subscribes, []],
    ["push configs", pushes, ["pushNotifications"]],
    ["push configs that can't be deleted", most, []],
    ["an extended card", { getExtendedAgentCard: async () => ({}) as never }, ["extendedAgentCard"]],
  ])("offers what it has: %s", async (_what, handler, offered) => {
    await using server = await serve(byHand(handler), { ...quiet, extendedCard: (_principal, card) => card });
    const { capabilities } = server.card;
    const names = ["streaming", "pushNotifications", "extendedAgentCard"] as const;
    expect(names.filter((name) => capabilities?.[name])).toEqual(offered);
  });

  test("leaves out what the agent says that it doesn't offer", async () => {
    const capabilities = { streaming: false, pushNotifications: false, extendedAgentCard: false } as const;
    await using server = await serve(byHand({ ...answers, ...pushes }, { capabilities }), quiet);
    expect(server.card.capabilities).toMatchObject(capabilities);
  });
});

describe("what such an agent leaves out", () => {
  const on = served({}, byHand({ sendMessage: answers.sendMessage, getTask: notFound }));
  const half = served({}, byHand({ ...subscribes, createTaskPushNotificationConfig: (config) => config }));
  const streaming = served({}, byHand(answers));

  test.each(WIRES)("is refused as what it is over %s (§3.3.4)", async (wire) => {
    for (const { url } of [on, half]) {
      for (const [operation, request] of PUSH)
        expect([operation, verdictOf(await ask(url, wire, operation, request))]).toEqual([
          operation,
          "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ]);
      for (const [operation, request] of [
        ["SendStreamingMessage", saying("x")],
        ["SubscribeToTask", { id: "t" }],
        ["ListTasks", {}],
        ["GetExtendedAgentCard", {}],
      ] as [Operation, JsonObject][])
        expect([operation, verdictOf(await ask(url, wire, operation, request))]).toEqual([
          operation,
          "UNSUPPORTED_OPERATION",
        ]);
    }
    expect(verdictOf(await ask(streaming.url, wire, "SubscribeToTask", { id: "t" }))).toBe("UNSUPPORTED_OPERATION");
    expect(verdictOf(await ask(streaming.url, wire, "SendStreamingMessage", saying("x")))).toBe("ok");
  });

  test.each(WIRES)("is refused also within a message over %s: a webhook (§3.3.4)", async (wire) => {
    const configuration = { taskPushNotificationConfig: { url: "https://hook.example/" } };
    const outcome = await ask(on.url, wire, "SendMessage", saying("x", {}, { configuration }));
    expect(verdictOf(outcome)).toBe("PUSH_NOTIFICATION_NOT_SUPPORTED");
  });
});

describe("what needs no state", () => {
  const heard: unknown[] = [];
  const hears = <A extends object>(answer: A) => {
    return (request: unknown): A => {
      heard.push(request);
      return answer;
    };
  };
  const handler: Operations = {
    ...pushes,
    sendMessage: hears({ message }),
    async *sendStreamingMessage(request) {
      heard.push(request);
      yield { message };
    },
    getTask: hears({ id: "t", status: { state: "TASK_STATE_COMPLETED" } } as const),
    listTasks: hears({ tasks: [], nextPageToken: "", pageSize: 1, totalSize: 0 }),
    listTaskPushNotificationConfigs: hears({}),
  };
  const hand = served({}, byHand(handler));
  const run = served({}, says("Run"));

  const config = { url: "https://hook.example/" };
  const sends: readonly [fields: string[], JsonObject][] = [
    [["message.role"], saying("x", { role: "ROLE_AGENT" })],
    [["configuration.historyLength"], saying("x", {}, { configuration: { historyLength: -1 } })],
    [["message.referenceTaskIds"], saying("x", { referenceTaskIds: Array.from({ length: 21 }, (_, n) => `t${n}`) })],
    [
      ["message.role", "configuration.historyLength", "configuration.taskPushNotificationConfig.taskId"],
      saying(
        "x",
        { role: "ROLE_AGENT" },
        { configuration: { historyLength: -1, taskPushNotificationConfig: { ...config, taskId: "t" } } },
      ),
    ],
  ];
  const reads: readonly [Operation, fields: string[], JsonObject][] = [
    ["GetTask", ["historyLength"], { id: "t", historyLength: -1 }],
    ["ListTasks", ["pageSize", "historyLength"], { pageSize: 101, historyLength: -1 }],
    ["ListTasks", ["pageSize"], { pageSize: 0 }],
  ];

  test.each(WIRES)("is judged over %s before an agent's own handler hears of it, as any agent's is", async (wire) => {
    heard.length = 0;
    for (const { url } of [hand, run]) {
      for (const [fields, request] of sends)
        for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
          const { error } = await ask(url, wire, operation, request);
          expect([operation, error?.fields]).toEqual([operation, fields]);
        }
      for (const [operation, fields, request] of reads) {
        const outcome = await ask(url, wire, operation, request);
        expect([operation, verdictOf(outcome), outcome.error?.fields]).toEqual([operation, "INVALID_PARAMS", fields]);
      }
      const file = saying("", { parts: [{ url: "https://a.example/v", mediaType: "video/mp4" }] });
      expect(verdictOf(await ask(url, wire, "SendMessage", file))).toBe("CONTENT_TYPE_NOT_SUPPORTED");
    }
    const list = (pageSize: number) =>
      ask(hand.url, wire, "ListTaskPushNotificationConfigs", { taskId: "t", pageSize });
    expect((await list(101)).error?.fields).toEqual(["pageSize"]);
    expect((await list(-1)).error?.fields).toEqual(["pageSize"]);
    expect(heard).toEqual([]);
    expect(verdictOf(await list(0))).toBe("ok");
    const configuration = { historyLength: 0, taskPushNotificationConfig: config };
    expect(verdictOf(await ask(hand.url, wire, "SendMessage", saying("x", {}, { configuration })))).toBe("ok");
    expect(heard).toHaveLength(2);
  });
});

describe("nuncio check finds nothing at such an agent:", () => {
  const failed = async (url: string) =>
    (await checkAgent(new URL(url), { timeoutMs: 5_000 })).findings
      .filter(({ verdict }) => verdict === "failed")
      .map(({ where, rule, seen }) => `${where} ${rule}: ${seen.join("; ")}`);

  test("one without streams and tasks", async () => {
    const knows = (id: string | undefined) => {
      if (id !== undefined && id !== "") throw new A2AError("TASK_NOT_FOUND");
    };
    const handler: Operations = {
      sendMessage: ({ message: asked }) => {
        knows(asked?.taskId);
        return { message: { ...message, contextId: asked?.contextId || "c" } };
      },
      getTask: notFound,
      cancelTask: notFound,
      listTasks: ({ pageSize = 50 }) => ({ tasks: [], nextPageToken: "", pageSize, totalSize: 0 }),
    };
    await using server = await serve(byHand(handler), quiet);
    expect(await failed(server.url)).toEqual([]);
  });

  test("a proxy, which says what is behind it", async () => {
    await using inner = await serve(says("A"), quiet);
    await using upstream = await connect(inner.url, { bindings: [...BINDINGS] });
    const capabilities = { pushNotifications: false, extendedAgentCard: false } as const;
    await using outer = await serve(byHand(upstream.handler, { capabilities }), quiet);
    expect(await failed(outer.url)).toEqual([]);
  });
});

function notFound(): never {
  throw new A2AError("TASK_NOT_FOUND");
}
