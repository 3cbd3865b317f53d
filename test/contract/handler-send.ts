import { create } from "@bufbuild/protobuf";
import {
  Role,
  SendMessageConfigurationSchema,
  type StreamResponse,
  TaskPushNotificationConfigSchema,
} from "nuncio/types";
import { describe, expect, test } from "vitest";
import { gate, runs } from "../support/scripted-agent.js";
import { call, createCalls, dataOf, refused, type Users } from "./handler-calls.js";
import { collect, message, send, stateOf, taskOf, textOf, told } from "./messages.js";

const atOnce = create(SendMessageConfigurationSchema, { returnImmediately: true });

/** Messages: sent, refused, and sent again (§3.1.1, §3.4). */
export function sendContract(on: Users): void {
  const { begin, begun, get, subscribe, list } = createCalls(on);

  describe("SendMessage", () => {
    test("waits until the task is done, and answers with its artifacts and its history (§3.2.2)", async () => {
      const task = await begin("Ada");
      expect(stateOf(task)).toBe("COMPLETED");
      expect(textOf(task)).toBe("Hello Ada");
      expect(task.contextId).not.toBe("");
      expect(task.history.map((one) => [one.role, textOf(one), one.taskId, one.contextId])).toEqual([
        [Role.USER, "Ada", task.id, task.contextId],
      ]);
      expect(task.status?.timestamp).toBeDefined();
    });

    test("answers at once when asked to, and the task goes on (§3.2.2)", async () => {
      const task = await begun("wait immediate");
      expect(stateOf(task)).toBe("WORKING");
      gate("immediate").open();
      const events = await collect(subscribe(task.id, "1"));
      expect(told(events).at(-1)).toBe("status:COMPLETED");
      expect(textOf(await get(task.id))).toBe("waited for immediate");
    });

    test("answers a direct reply with a Message that carries its context, and makes no task (§3.1.1)", async () => {
      const { payload } = await on.ann.sendMessage(send("direct Hi there"), call);
      expect(payload.case).toBe("message");
      if (payload.case !== "message") return;
      expect([textOf(payload.value), payload.value.role, payload.value.taskId]).toEqual(["Hi there", Role.AGENT, ""]);
      expect(payload.value.contextId).not.toBe("");
      expect((await list({ contextId: payload.value.contextId })).totalSize).toBe(0);
    });

    test("returns at a question, and the answer goes on with the same task and history (§3.4.3)", async () => {
      const asked = await begin("ask Which city?");
      expect(stateOf(asked)).toBe("INPUT_REQUIRED");
      expect(textOf(asked.status?.message)).toBe("Which city?");
      const answered = taskOf(await on.ann.sendMessage(send(message("history", { taskId: asked.id })), call));
      expect([answered.id, answered.contextId, stateOf(answered)]).toEqual([asked.id, asked.contextId, "COMPLETED"]);
      expect(answered.history.map((one) => textOf(one))).toEqual(["ask Which city?", "Which city?", "history"]);
    });

    test.each([
      ["fail no room", "FAILED", "no room"],
      ["reject not for me", "REJECTED", "not for me"],
      ["complete all done", "COMPLETED", "all done"],
    ])("reports how %j ended, with what the agent said of it", async (text, state, said) => {
      const task = await begin(text);
      expect([stateOf(task), textOf(task.status?.message)]).toEqual([state, said]);
      expect(task.status?.message?.taskId).toBe(task.id);
    });

    test("an agent that throws fails its task under the same id, and its words go to nobody (§3.3.2)", async () => {
      const task = await begin("throw postgres://u:p@h");
      expect(stateOf(task)).toBe("FAILED");
      expect(textOf(task.status?.message)).not.toContain("postgres");
      expect(stateOf(await get(task.id))).toBe("FAILED");
    });

    test("takes a context that the caller made, unchanged (§3.4.1)", async () => {
      const task = taskOf(await on.ann.sendMessage(send(message("Ada", { contextId: "my context/1" })), call));
      expect(task.contextId).toBe("my context/1");
    });

    test("gives the agent its history, references, earlier tasks, metadata and caller", async () => {
      const first = await begin("Ada");
      const facts = taskOf(
        await on.ann.sendMessage(
          { ...send(message("facts", { contextId: first.contextId })), metadata: { from: "request" } },
          { extensions: ["https://unknown.example/1"] },
        ),
      );
      expect(facts.artifacts[0]?.parts[0]?.content.case).toBe("data");
      const seen = await dataOf(facts);
      expect(seen).toMatchObject({
        principal: "ann",
        metadata: { from: "request" },
        extensions: [],
        id: facts.id,
        contextId: first.contextId,
      });
      const references = taskOf(
        await on.ann.sendMessage(send(message("references", { referenceTaskIds: [first.id] })), call),
      );
      expect(dataOf(references)).toEqual([first.id]);
      const earlier = taskOf(await on.ann.sendMessage(send(message("earlier", { contextId: first.contextId })), call));
      expect(new Set(dataOf(earlier) as string[])).toEqual(new Set([first.id, facts.id]));
    });

    test("carries parts of every kind there and back", async () => {
      const parts = [
        { text: "mirror" },
        {
          data: { nested: { list: [1, null, "x", { deep: true }] }, zero: 0, no: false, empty: "" },
          mediaType: "application/vnd.x+json",
        },
        { url: "https://a.example/b.png", mediaType: "image/png" },
        { raw: new Uint8Array([0, 1, 254, 255]), mediaType: "image/gif", filename: "a.gif", metadata: { k: [null] } },
      ];
      const task = taskOf(await on.ann.sendMessage(send(message("", { parts })), call));
      const back = task.artifacts[0]?.parts ?? [];
      expect(back.map(({ content }) => content.case)).toEqual(["text", "data", "url", "raw"]);
      expect(dataOf(task)).toEqual(parts[1]?.data);
      expect(back[3]?.content.value).toEqual(new Uint8Array([0, 1, 254, 255]));
      expect([back[3]?.filename, back[3]?.mediaType, back[3]?.metadata]).toEqual(["a.gif", "image/gif", { k: [null] }]);
    });

    test("judges a skill's data before there is a task, and types it", async () => {
      const doubled = taskOf(
        await on.ann.sendMessage(
          send(message("", { parts: [{ data: { n: 21 } }], metadata: { skill: "double" } })),
          call,
        ),
      );
      expect(dataOf(doubled)).toEqual({ n: 42 });
      const { totalSize } = await list();
      await refused(
        on.ann.sendMessage(send(message("", { parts: [{ data: { n: "x" } }], metadata: { skill: "double" } })), call),
        "INVALID_PARAMS",
      );
      await refused(
        on.ann.sendMessage(send(message("x", { metadata: { skill: "nope" } })), call),
        "INVALID_PARAMS",
        "double",
      );
      expect((await list()).totalSize).toBe(totalSize);
    });

    test("refuses what is wrong, with the reason of its kind, and stores nothing", async () => {
      const { totalSize } = await list();
      const ended = await begin("Ada");
      await refused(
        on.ann.sendMessage(send(message("x", { taskId: "00000000-0000-7000-8000-000000000000" })), call),
        "TASK_NOT_FOUND",
      );
      await refused(on.ann.sendMessage(send(message("x", { taskId: ended.id })), call), "UNSUPPORTED_OPERATION");
      const open = await begin("ask");
      await refused(
        on.ann.sendMessage(send(message("x", { taskId: open.id, contextId: ended.contextId })), call),
        "INVALID_PARAMS",
        "contextId",
      );
      await refused(on.ann.sendMessage(send(message("x", { role: Role.AGENT })), call), "INVALID_PARAMS", "role");
      await refused(on.ann.sendMessage(send(message("x", { messageId: "" })), call), "INVALID_PARAMS", "messageId");
      await refused(on.ann.sendMessage(send(message("x", { parts: [] })), call), "INVALID_PARAMS", "parts");
      await refused(
        on.ann.sendMessage(send(message("x"), { historyLength: -1 }), call),
        "INVALID_PARAMS",
        "historyLength",
      );
      await refused(on.ann.sendMessage(send(message("x", { referenceTaskIds: ["nope"] })), call), "TASK_NOT_FOUND");
      await refused(
        on.ann.sendMessage(
          send(message("", { parts: [{ url: "https://a.example/v", mediaType: "video/mp4" }] })),
          call,
        ),
        "CONTENT_TYPE_NOT_SUPPORTED",
        "video/mp4",
      );
      await refused(
        on.ann.sendMessage(send(message("x"), { acceptedOutputModes: ["image/png"] }), call),
        "CONTENT_TYPE_NOT_SUPPORTED",
      );
      const push = create(TaskPushNotificationConfigSchema, { url: "https://a.example/hook" });
      await refused(
        on.ann.sendMessage(send(message("x"), { taskPushNotificationConfig: push }), call),
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
      );
      expect((await list()).totalSize).toBe(totalSize + 2);
    });

    test("history: unset gives it, 0 leaves it out, n gives the newest n (§3.2.4)", async () => {
      const task = await begin("status a b c");
      expect((await get(task.id)).history.map((one) => textOf(one))).toEqual(["status a b c", "a", "b", "c"]);
      expect((await get(task.id, 0)).history).toEqual([]);
      expect((await get(task.id, 2)).history.map((one) => textOf(one))).toEqual(["b", "c"]);
      await refused(get(task.id, -1), "INVALID_PARAMS", "historyLength");
    });
  });

  describe("a message that is sent again", () => {
    test("is taken once, and its sender gets the first one's task", async () => {
      const again = send(`repeat ${Math.random()}`);
      const [first, second] = await Promise.all([on.ann.sendMessage(again, call), on.ann.sendMessage(again, call)]);
      const third = await on.ann.sendMessage(again, call);
      expect(new Set([first, second, third].map((one) => taskOf(one).id)).size).toBe(1);
      expect(runs.get(textOf(again.message))).toBe(1);
      expect(told(await collect(on.ann.sendStreamingMessage(again, call)))).toEqual(["task:COMPLETED"]);
    });

    test("is another message under the same id with other content, and from somebody else", async () => {
      const first = message("one");
      const tasks = [
        await on.ann.sendMessage(send(first), call),
        await on.ann.sendMessage(send({ ...first, parts: message("two").parts }), call),
        await on.bob.sendMessage(send(first), call),
      ].map(taskOf);
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(3);
    });

    test("is answered even though the task has ended meanwhile", async () => {
      const asked = await begin("ask");
      const answer = send(message("complete thanks", { taskId: asked.id }));
      const first = taskOf(await on.ann.sendMessage(answer, call));
      expect(stateOf(first)).toBe("COMPLETED");
      expect(stateOf(taskOf(await on.ann.sendMessage(answer, call)))).toBe("COMPLETED");
    });

    test("is answered with the task as it is now, whichever way it is sent again", async () => {
      const first = send("ask Which?");
      const asked = taskOf(await on.ann.sendMessage(first, call));
      const ways = async () => [
        stateOf(taskOf(await on.ann.sendMessage(first, call))),
        stateOf(taskOf(await on.ann.sendMessage({ ...first, configuration: atOnce }, call))),
        told(await collect(on.ann.sendStreamingMessage(first, call))).join(),
      ];
      expect(await ways()).toEqual(["INPUT_REQUIRED", "INPUT_REQUIRED", "task:INPUT_REQUIRED"]);
      await on.ann.sendMessage(send(message("complete thanks", { taskId: asked.id })), call);
      expect(await ways()).toEqual(["COMPLETED", "COMPLETED", "task:COMPLETED"]);
    });

    test("waits while the task works, also on another message", async () => {
      const first = send("ask Which?");
      const asked = taskOf(await on.ann.sendMessage(first, call));
      const name = `repeat ${Math.random()}`;
      const answer = send(message(`wait ${name}`, { taskId: asked.id }), { returnImmediately: true });
      expect(stateOf(taskOf(await on.ann.sendMessage(answer, call)))).toBe("WORKING");
      expect(stateOf(taskOf(await on.ann.sendMessage({ ...first, configuration: atOnce }, call)))).toBe("WORKING");
      const waiting = on.ann.sendMessage(first, call);
      const seen: StreamResponse[] = [];
      for await (const event of on.ann.sendStreamingMessage(first, call)) {
        seen.push(event);
        gate(name).open();
      }
      expect([told(seen)[0], told(seen).at(-1)]).toEqual(["task:WORKING", "status:COMPLETED"]);
      expect(stateOf(taskOf(await waiting))).toBe("COMPLETED");
    });

    test("gets the same direct reply", async () => {
      const again = send("direct once");
      const [first, second] = [await on.ann.sendMessage(again, call), await on.ann.sendMessage(again, call)];
      expect(first.payload.case === "message" && first.payload.value.messageId).toBe(
        second.payload.case === "message" && second.payload.value.messageId,
      );
    });
  });
}
