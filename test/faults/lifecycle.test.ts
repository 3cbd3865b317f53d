import type { JsonObject } from "@bufbuild/protobuf";
import { type AgentDefinition, agent } from "nuncio";
import { describe, expect, test } from "vitest";
import { answerOf, ask, saying, tell, verdictOf } from "../support/asking.js";
import { JSON_WIRES, type Operation, requestOf, WIRES } from "../support/exchange.js";
import { gate } from "../support/scripted-agent.js";
import { served } from "../support/served.js";

const on = served();

interface Task {
  id: string;
  contextId: string;
  status: { state: string; message?: { parts: { text: string }[] }; timestamp: string };
  history?: { messageId: string; role: string; parts: { text: string }[] }[];
  artifacts?: { parts: { text: string }[] }[];
}

let names = 0;
/** An id that nobody has yet. */
const fresh = () => `01900000-0000-7000-8000-${String(++names).padStart(12, "0")}`;

describe.each(WIRES)("over %s", (wire) => {
  const call = (operation: Operation, request: JsonObject) => ask(on.url, wire, operation, request);
  const send = async (text: string, fields: JsonObject = {}, rest: JsonObject = {}) =>
    answerOf<{ task: Task }>(await call("SendMessage", saying(text, fields, rest))).task;
  const get = async (id: string, more: JsonObject = {}) => answerOf<Task>(await call("GetTask", { id, ...more }));
  const texts = (task: Task) => (task.history ?? []).map(({ parts }) => parts[0]?.text);

  test("T-05: an answer isn't the task as it was accepted but as it ended, unless that was asked for", async () => {
    const name = fresh();
    const waiting = send(`wait ${name}`);
    const started = await send(`wait ${name}`, {}, { configuration: { returnImmediately: true } });
    expect(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]).toContain(started.status.state);
    gate(name).open();
    const task = await waiting;
    expect([task.status.state, task.artifacts?.[0]?.parts[0]?.text]).toEqual([
      "TASK_STATE_COMPLETED",
      `waited for ${name}`,
    ]);
  });

  test.each(["blocking", "streaming", "at once"])(
    "T-07: an agent that throws at once leaves a FAILED task under the id that was told (%s), and no word of its own",
    async (how) => {
      const request = saying("throw postgres://u:p@h", {}, { configuration: { returnImmediately: how === "at once" } });
      const outcome = await call(how === "streaming" ? "SendStreamingMessage" : "SendMessage", request);
      const { task } = outcome.messages[0] as unknown as { task: Task };
      if (how === "streaming")
        expect(outcome.messages.at(-1)).toMatchObject({
          statusUpdate: { taskId: task.id, status: { state: "TASK_STATE_FAILED" } },
        });
      await expect.poll(async () => (await get(task.id)).status.state, { timeout: 10_000 }).toBe("TASK_STATE_FAILED");
      expect((await get(task.id)).status.message?.parts[0]?.text).not.toContain("postgres");
    },
  );

  test("T-12: a taskId that the caller made up finds nothing, and makes nothing", async () => {
    const contextId = fresh();
    for (const operation of ["SendMessage", "SendStreamingMessage"] as const)
      expect(verdictOf(await call(operation, saying("x", { taskId: fresh(), contextId })))).toBe("TASK_NOT_FOUND");
    expect(answerOf<{ totalSize?: number }>(await call("ListTasks", { contextId })).totalSize).toBeUndefined();
  });

  test("T-10, T-14: an answer to a question goes on with the same task, and the history has both messages in order", async () => {
    const asked = await send("ask Which?");
    const answered = await send("complete thanks", { taskId: asked.id, contextId: asked.contextId });
    expect([answered.id, answered.contextId]).toEqual([asked.id, asked.contextId]);
    expect(texts(answered)).toEqual(["ask Which?", "Which?", "complete thanks"]);
    expect(texts(await get(asked.id))).toEqual(texts(answered));
  });

  test("T-14: two hundred progress messages don't flood the history: the newest hundred are there", async () => {
    const task = await send(`status ${Array.from({ length: 200 }, (_, n) => `n${n}`).join(" ")}`);
    const shown = texts(await get(task.id));
    expect([shown.length, shown.at(-1)]).toEqual([100, "n199"]);
  });

  test("T-11: the context is the task's, the caller's own stays as it was, and another one is refused", async () => {
    const one = await send("ask");
    const other = await send("ask", { contextId: `mine/${fresh()}` });
    expect(other.contextId).toMatch(/^mine\//);
    const mismatch = await call("SendMessage", saying("x", { taskId: one.id, contextId: other.contextId }));
    expect([verdictOf(mismatch), mismatch.error?.fields]).toEqual(["INVALID_PARAMS", ["message.contextId"]]);
    expect((await send("complete", { taskId: one.id })).contextId).toBe(one.contextId);
  });

  test("T-15: historyLength unset gives it, 0 gives none, 1 the newest, wherever it can be said", async () => {
    const contextId = fresh();
    const task = await send("status a b c", { contextId });
    expect(texts(await get(task.id))).toEqual(["status a b c", "a", "b", "c"]);
    expect(texts(await get(task.id, { historyLength: 1 }))).toEqual(["c"]);
    expect(await get(task.id, { historyLength: 0 })).not.toHaveProperty("history");
    const listed = async (more: JsonObject) =>
      answerOf<{ tasks: Task[] }>(await call("ListTasks", { contextId, ...more })).tasks[0] as Task;
    expect(texts(await listed({}))).toEqual(["status a b c", "a", "b", "c"]);
    expect(texts(await listed({ historyLength: 1 }))).toEqual(["c"]);
    expect(await listed({ historyLength: 0 })).not.toHaveProperty("history");
    expect(texts(await send("status a b", {}, { configuration: { historyLength: 2 } }))).toEqual(["a", "b"]);
    expect(await send("status a", {}, { configuration: { historyLength: 0 } })).not.toHaveProperty("history");
    const { messages } = await call("SendStreamingMessage", saying("ask", {}, { configuration: { historyLength: 0 } }));
    expect((messages[0] as unknown as { task: Task }).task).not.toHaveProperty("history");
  });

  test("T-16: a history length that is none is refused, and a huge one is capped", async () => {
    const { id } = await send("Ada");
    expect(verdictOf(await call("GetTask", { id, historyLength: 2147483647 }))).toBe("ok");
    const negative = await call("GetTask", { id, historyLength: -1 });
    expect([verdictOf(negative), negative.error?.fields]).toEqual(["INVALID_PARAMS", ["historyLength"]]);
    if (!JSON_WIRES.includes(wire)) return; // no message can say the others
    for (const historyLength of ["abc", 1.5, 2147483648, "1e99", "NaN"] as (string | number)[]) {
      const outcome = await call("GetTask", { id, historyLength });
      expect([historyLength, verdictOf(outcome), outcome.error?.fields]).toEqual([
        historyLength,
        "INVALID_PARAMS",
        ["historyLength"],
      ]);
    }
  });

  test("T-04: a second cancel gives the canceled task again; a task that ended otherwise can't be canceled", async () => {
    const { id } = await send("ask");
    for (let n = 0; n < 2; n++)
      expect(answerOf<Task>(await call("CancelTask", { id })).status.state).toBe("TASK_STATE_CANCELED");
    for (const text of ["Ada", "fail x", "reject x"])
      expect(verdictOf(await call("CancelTask", { id: (await send(text)).id }))).toBe("TASK_NOT_CANCELABLE");
  });

  test("T-13: a message to a task that has ended is UnsupportedOperation, however it ended", async () => {
    for (const text of ["Ada", "fail x", "reject x"]) {
      const { id } = await send(text);
      for (const operation of ["SendMessage", "SendStreamingMessage"] as const)
        expect(verdictOf(await call(operation, saying("more", { taskId: id })))).toBe("UNSUPPORTED_OPERATION");
    }
  });

  test("T-21: a message with something missing is told what", async () => {
    const whole = saying("x").message as unknown as JsonObject;
    const wrong: [JsonObject, string][] = [
      [{ ...whole, parts: [] }, "message.parts"],
      [{ ...whole, messageId: "" }, "message.messageId"],
      [{ ...whole, role: "ROLE_UNSPECIFIED" }, "message.role"],
      [{ ...whole, role: "ROLE_AGENT" }, "message.role"],
      [{ ...whole, parts: [{}] }, "message.parts[0]"],
      [{}, "message.parts"],
    ];
    for (const [message, field] of wrong) {
      const outcome = await call("SendMessage", { message });
      expect(verdictOf(outcome)).toBe("INVALID_PARAMS");
      expect(outcome.error?.fields).toContain(field);
    }
    const nothing = await call("SendMessage", {});
    expect([verdictOf(nothing), nothing.error?.fields]).toEqual(["INVALID_PARAMS", ["message"]]);
  });

  test("T-20: a direct answer is the one event of its stream", async () => {
    const { messages, error } = await call("SendStreamingMessage", saying("direct Hi"));
    expect([messages.length, error]).toEqual([1, undefined]);
    expect(messages[0]).toHaveProperty("message.parts");
  });
});

describe("an agent that answers by hand, and wrongly", () => {
  const message = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "Hi" }] } as const;
  const update = { taskId: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } } as const;
  const ended = { taskId: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } } as const;
  const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } } as const;
  const frames: Record<string, readonly object[]> = {
    "more after a Message": [{ message }, { statusUpdate: update }],
    "an update first": [{ statusUpdate: update }],
    "a Message after a Task": [{ task }, { message }],
    "more after the end": [{ task }, { statusUpdate: ended }, { statusUpdate: update }],
    "half a Task": [{ task: { id: "t" } }],
  };
  const sloppy = agent({
    name: "Sloppy",
    description: "Streams what it is told",
    handler: {
      async *sendStreamingMessage({ message: asked }) {
        const content = asked?.parts[0]?.content;
        yield* (frames[content?.case === "text" ? content.value : ""] ?? []) as { task: typeof task }[];
      },
      getTask: async ({ id }) => ({ id, status: {} }),
    } as AgentDefinition["handler"] & object,
  });
  const on = served({}, sloppy);
  const expected: [string, number, string][] = [
    ["more after a Message", 1, "ok"],
    ["an update first", 0, "INVALID_AGENT_RESPONSE"],
    ["a Message after a Task", 1, "INVALID_AGENT_RESPONSE"],
    ["more after the end", 2, "ok"],
    ["half a Task", 0, "INVALID_AGENT_RESPONSE"],
  ];

  describe.each(WIRES)("over %s", (wire) => {
    test.each(expected)(
      "T-20, S-10: its stream with %s never reaches a caller like that",
      async (what, events, verdict) => {
        const outcome = await ask(on.url, wire, "SendStreamingMessage", saying(what));
        expect([outcome.messages.length, verdictOf(outcome)]).toEqual([events, verdict]);
      },
    );

    test("T-20: its half Task is an error of the agent", async () => {
      const outcome = await tell(on.url, wire, "GetTask", requestOf(wire, "GetTask", { id: "t" }));
      expect(verdictOf(outcome)).toBe("INVALID_AGENT_RESPONSE");
    });
  });
});
