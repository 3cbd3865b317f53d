import { create } from "@bufbuild/protobuf";
import { A2AError, type Call, contentOf, type Handler } from "nuncio";
import {
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTasksRequestSchema,
  Role,
  SubscribeToTaskRequestSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "nuncio/types";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gate, runs } from "../support/scripted-agent.js";
import { collect, message, send, stateOf, taskOf, textOf, told } from "./messages.js";

/** A Handler in front of the scripted agent, over some wire. */
export interface Subject {
  /** The operations, asked by this user. */
  as(user: string): Handler;
  close(): Promise<void>;
}

const call: Call = {};

/** What any Handler of ours must do, whatever stands between it and its caller (§3). Users are "ann" and "bob". */
export function handlerContract(name: string, open: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject;
    let ann: Handler;
    let bob: Handler;
    beforeAll(async () => {
      subject = await open();
      ann = subject.as("ann");
      bob = subject.as("bob");
    });
    afterAll(() => subject?.close());

    const begin = async (text: string, handler = ann): Promise<Task> =>
      taskOf(await handler.sendMessage(send(text), call));
    const begun = async (text: string, handler = ann): Promise<Task> =>
      taskOf(await handler.sendMessage(send(text, { returnImmediately: true }), call));
    const get = (id: string, historyLength?: number, handler = ann) =>
      handler.getTask(
        create(GetTaskRequestSchema, { id, ...(historyLength === undefined ? {} : { historyLength }) }),
        call,
      );
    const cancel = (id: string, handler = ann) => handler.cancelTask(create(CancelTaskRequestSchema, { id }), call);
    const subscribe = (id: string, after?: string, handler = ann) =>
      handler.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), after === undefined ? call : { after });
    const list = (request: Parameters<typeof create<typeof ListTasksRequestSchema>>[1] = {}, handler = ann) =>
      handler.listTasks(create(ListTasksRequestSchema, request), call);

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
        const { payload } = await ann.sendMessage(send("direct Hi there"), call);
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
        const answered = taskOf(await ann.sendMessage(send(message("history", { taskId: asked.id })), call));
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
        const task = taskOf(await ann.sendMessage(send(message("Ada", { contextId: "my context/1" })), call));
        expect(task.contextId).toBe("my context/1");
      });

      test("gives the agent its history, references, earlier tasks, metadata and caller", async () => {
        const first = await begin("Ada");
        const facts = taskOf(
          await ann.sendMessage(
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
          await ann.sendMessage(send(message("references", { referenceTaskIds: [first.id] })), call),
        );
        expect(dataOf(references)).toEqual([first.id]);
        const earlier = taskOf(await ann.sendMessage(send(message("earlier", { contextId: first.contextId })), call));
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
        const task = taskOf(await ann.sendMessage(send(message("", { parts })), call));
        const back = task.artifacts[0]?.parts ?? [];
        expect(back.map(({ content }) => content.case)).toEqual(["text", "data", "url", "raw"]);
        expect(dataOf(task)).toEqual(parts[1]?.data);
        expect(back[3]?.content.value).toEqual(new Uint8Array([0, 1, 254, 255]));
        expect([back[3]?.filename, back[3]?.mediaType, back[3]?.metadata]).toEqual([
          "a.gif",
          "image/gif",
          { k: [null] },
        ]);
      });

      test("judges a skill's data before there is a task, and types it", async () => {
        const doubled = taskOf(
          await ann.sendMessage(
            send(message("", { parts: [{ data: { n: 21 } }], metadata: { skill: "double" } })),
            call,
          ),
        );
        expect(dataOf(doubled)).toEqual({ n: 42 });
        const { totalSize } = await list();
        await refused(
          ann.sendMessage(send(message("", { parts: [{ data: { n: "x" } }], metadata: { skill: "double" } })), call),
          "INVALID_PARAMS",
        );
        await refused(
          ann.sendMessage(send(message("x", { metadata: { skill: "nope" } })), call),
          "INVALID_PARAMS",
          "double",
        );
        expect((await list()).totalSize).toBe(totalSize);
      });

      test("refuses what is wrong, with the reason of its kind, and stores nothing", async () => {
        const { totalSize } = await list();
        const ended = await begin("Ada");
        await refused(
          ann.sendMessage(send(message("x", { taskId: "00000000-0000-7000-8000-000000000000" })), call),
          "TASK_NOT_FOUND",
        );
        await refused(ann.sendMessage(send(message("x", { taskId: ended.id })), call), "UNSUPPORTED_OPERATION");
        const open = await begin("ask");
        await refused(
          ann.sendMessage(send(message("x", { taskId: open.id, contextId: ended.contextId })), call),
          "INVALID_PARAMS",
          "contextId",
        );
        await refused(ann.sendMessage(send(message("x", { role: Role.AGENT })), call), "INVALID_PARAMS", "role");
        await refused(ann.sendMessage(send(message("x", { messageId: "" })), call), "INVALID_PARAMS", "messageId");
        await refused(ann.sendMessage(send(message("x", { parts: [] })), call), "INVALID_PARAMS", "parts");
        await refused(
          ann.sendMessage(send(message("x"), { historyLength: -1 }), call),
          "INVALID_PARAMS",
          "historyLength",
        );
        await refused(ann.sendMessage(send(message("x", { referenceTaskIds: ["nope"] })), call), "TASK_NOT_FOUND");
        await refused(
          ann.sendMessage(send(message("", { parts: [{ url: "https://a.example/v", mediaType: "video/mp4" }] })), call),
          "CONTENT_TYPE_NOT_SUPPORTED",
          "video/mp4",
        );
        await refused(
          ann.sendMessage(send(message("x"), { acceptedOutputModes: ["image/png"] }), call),
          "CONTENT_TYPE_NOT_SUPPORTED",
        );
        const push = create(TaskPushNotificationConfigSchema, { url: "https://a.example/hook" });
        await refused(
          ann.sendMessage(send(message("x"), { taskPushNotificationConfig: push }), call),
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
        const [first, second] = await Promise.all([ann.sendMessage(again, call), ann.sendMessage(again, call)]);
        const third = await ann.sendMessage(again, call);
        expect(new Set([first, second, third].map((one) => taskOf(one).id)).size).toBe(1);
        expect(runs.get(textOf(again.message))).toBe(1);
        expect(told(await collect(ann.sendStreamingMessage(again, call)))).toEqual(["task:COMPLETED"]);
      });

      test("is another message under the same id with other content, and from somebody else", async () => {
        const first = message("one");
        const tasks = [
          await ann.sendMessage(send(first), call),
          await ann.sendMessage(send({ ...first, parts: message("two").parts }), call),
          await bob.sendMessage(send(first), call),
        ].map(taskOf);
        expect(new Set(tasks.map(({ id }) => id)).size).toBe(3);
      });

      test("is answered even though the task has ended meanwhile", async () => {
        const asked = await begin("ask");
        const answer = send(message("complete thanks", { taskId: asked.id }));
        const first = taskOf(await ann.sendMessage(answer, call));
        expect(stateOf(first)).toBe("COMPLETED");
        expect(stateOf(taskOf(await ann.sendMessage(answer, call)))).toBe("COMPLETED");
      });

      test("gets the same direct reply", async () => {
        const again = send("direct once");
        const [first, second] = [await ann.sendMessage(again, call), await ann.sendMessage(again, call)];
        expect(first.payload.case === "message" && first.payload.value.messageId).toBe(
          second.payload.case === "message" && second.payload.value.messageId,
        );
      });
    });

    describe("streams", () => {
      test("begin with the Task, give every event in order, and end with the task (§3.1.2)", async () => {
        const events = await collect(ann.sendStreamingMessage(send("chunks a|b|c"), call));
        expect(told(events)).toEqual(["task:WORKING", "artifact:a", "artifact:b+", "artifact:c+.", "status:COMPLETED"]);
      });

      test("of a direct reply hold exactly one Message (§3.1.2)", async () => {
        expect(told(await collect(ann.sendStreamingMessage(send("direct Hi"), call)))).toEqual(["message:Hi"]);
      });

      test("end at a question, and begin the next turn with the Task again", async () => {
        const events = await collect(ann.sendStreamingMessage(send("ask Which?"), call));
        expect(told(events)).toEqual(["task:WORKING", "status:INPUT_REQUIRED Which?"]);
        const { id } = taskOf(events[0] as (typeof events)[number]);
        expect(told(await collect(ann.sendStreamingMessage(send(message("complete", { taskId: id })), call)))).toEqual([
          "task:WORKING",
          "status:COMPLETED",
        ]);
      });

      test("of a task that fails end with its failure", async () => {
        const told_ = told(await collect(ann.sendStreamingMessage(send("throw x"), call)));
        expect(told_[0]).toBe("task:WORKING");
        expect(told_.at(-1)).toMatch(/^status:FAILED The agent failed/);
      });

      test("that can't begin are plain errors (§3.3.2)", async () => {
        await refused(
          collect(ann.sendStreamingMessage(send(message("x", { taskId: "nope" })), call)),
          "TASK_NOT_FOUND",
        );
        await refused(collect(subscribe("nope")), "TASK_NOT_FOUND");
        const ended = await begin("Ada");
        await refused(collect(subscribe(ended.id)), "UNSUPPORTED_OPERATION");
      });

      test("several subscribers get the same events, and one that leaves disturbs nobody (§3.5.2)", async () => {
        const name = `many-${Math.random()}`;
        const task = await begun(`wait ${name}`);
        const streams = [subscribe(task.id, "2"), subscribe(task.id, "2")].map(collect);
        for await (const _ of subscribe(task.id)) break;
        gate(name).open();
        const [one, other] = await Promise.all(streams);
        expect(told(one ?? [])).toEqual([
          "task:WORKING",
          "status:WORKING waiting",
          `artifact:waited for ${name}`,
          "status:COMPLETED",
        ]);
        expect(told(other ?? [])).toEqual(told(one ?? []));
      });

      test("a subscriber of a parked task stays, and sees what a later message causes (§3.1.6)", async () => {
        const task = await begin("ask");
        const events = subscribe(task.id)[Symbol.asyncIterator]();
        expect(told([(await events.next()).value])).toEqual(["task:INPUT_REQUIRED"]);
        await ann.sendMessage(send(message("complete thanks", { taskId: task.id })), call);
        const rest = [];
        for (let step = await events.next(); !step.done; step = await events.next()) rest.push(step.value);
        expect(told(rest)).toEqual(["status:WORKING", "status:COMPLETED thanks"]);
      });

      test("a caller that hangs up doesn't stop the task (§3.5.2)", async () => {
        const name = `hangup-${Math.random()}`;
        let id = "";
        for await (const event of ann.sendStreamingMessage(send(`wait ${name}`), call)) {
          id = taskOf(event).id;
          break;
        }
        const gone = new AbortController();
        const blocked = ann.sendMessage(send(`wait ${name}`), { signal: gone.signal });
        gone.abort(new Error("gone"));
        await expect(blocked).rejects.toThrow();
        gate(name).open();
        await collect(subscribe(id, "1"));
        expect(stateOf(await get(id))).toBe("COMPLETED");
      });

      test("resume exactly after any position, also when the task has ended", async () => {
        const task = await begin("chunks a|b|c|d");
        const all = await collect(subscribe(task.id, "1"));
        expect(told(all)).toEqual([
          "task:SUBMITTED",
          "status:WORKING",
          "artifact:a",
          "artifact:b+",
          "artifact:c+",
          "artifact:d+.",
          "status:COMPLETED",
        ]);
        for (let position = 1; position <= 6; position++) {
          const resumed = await collect(subscribe(task.id, String(position)));
          expect(told(resumed.slice(1))).toEqual(told(all.slice(position)));
        }
      });
    });

    describe("CancelTask", () => {
      test("ends a running task, and gives it back CANCELED; once more gives it again (§3.1.5, §3.3.1)", async () => {
        const task = await begun("until-canceled");
        expect(stateOf(await cancel(task.id))).toBe("CANCELED");
        expect(stateOf(await cancel(task.id))).toBe("CANCELED");
        expect(stateOf(await get(task.id))).toBe("CANCELED");
      });

      test("ends a parked task at once", async () => {
        const task = await begin("ask");
        expect(stateOf(await cancel(task.id))).toBe("CANCELED");
        await refused(ann.sendMessage(send(message("x", { taskId: task.id })), call), "UNSUPPORTED_OPERATION");
      });

      test("ends a task whose agent doesn't listen when the grace time is over, and nothing changes it afterwards", async () => {
        const name = `stubborn-${Math.random()}`;
        const task = await begun(`stubborn ${name}`);
        const canceled = await cancel(task.id);
        expect([stateOf(canceled), textOf(canceled.status?.message)]).toEqual([
          "CANCELED",
          "Canceled; the agent didn't confirm",
        ]);
        gate(name).open();
        expect(stateOf(await get(task.id))).toBe("CANCELED");
      });

      test("refuses a task that has ended otherwise, or isn't there", async () => {
        await refused(cancel((await begin("Ada")).id), "TASK_NOT_CANCELABLE");
        await refused(cancel("nope"), "TASK_NOT_FOUND");
      });
    });

    describe("ListTasks", () => {
      test("gives the caller's tasks, newest first, in pages, with an exact total (§3.1.4)", async () => {
        const contextId = `list-${Math.random()}`;
        const ids: string[] = [];
        for (let n = 0; n < 5; n++)
          ids.unshift(taskOf(await ann.sendMessage(send(message(`Ada ${n}`, { contextId })), call)).id);
        const first = await list({ contextId, pageSize: 2 });
        expect([first.tasks.map(({ id }) => id), first.totalSize, first.pageSize]).toEqual([ids.slice(0, 2), 5, 2]);
        const second = await list({ contextId, pageSize: 2, pageToken: first.nextPageToken });
        const third = await list({ contextId, pageSize: 2, pageToken: second.nextPageToken });
        expect([...second.tasks, ...third.tasks].map(({ id }) => id)).toEqual(ids.slice(2));
        expect(third.nextPageToken).toBe("");
        expect(first.tasks[0]?.artifacts).toEqual([]);
        expect((await list({ contextId, includeArtifacts: true })).tasks[0]?.artifacts).toHaveLength(1);
        expect((await list({ contextId, historyLength: 0 })).tasks[0]?.history).toEqual([]);
        expect((await list({ contextId, status: TaskState.FAILED })).totalSize).toBe(0);
        expect((await list({ contextId, status: TaskState.COMPLETED })).totalSize).toBe(5);
        const timestamp = first.tasks[0]?.status?.timestamp;
        expect(
          (
            await list({ contextId, ...(timestamp === undefined ? {} : { statusTimestampAfter: timestamp }) })
          ).tasks.map(({ id }) => id),
        ).toContain(ids[0]);
        await refused(
          list({ contextId: "other", pageSize: 2, pageToken: first.nextPageToken }),
          "INVALID_PARAMS",
          "pageToken",
        );
      });

      test.each([{ pageSize: 0 }, { pageSize: 101 }, { pageSize: -1 }, { pageToken: "%%" }, { historyLength: -1 }])(
        "refuses %j",
        async (request) => {
          await refused(list(request), "INVALID_PARAMS", Object.keys(request)[0]);
        },
      );
    });

    describe("what isn't one's own", () => {
      test("looks as if it didn't exist, in the same words (§13.1)", async () => {
        const task = await begin("ask mine");
        const unknown = await reasonOf(get("01900000-0000-7000-8000-000000000000", undefined, bob));
        for (const attempt of [
          get(task.id, undefined, bob),
          cancel(task.id, bob),
          collect(subscribe(task.id, undefined, bob)),
          collect(subscribe(task.id, "1", bob)),
          bob.sendMessage(send(message("x", { taskId: task.id })), call),
          collect(bob.sendStreamingMessage(send(message("x", { taskId: task.id })), call)),
          bob.sendMessage(send(message("x", { referenceTaskIds: [task.id] })), call),
        ]) {
          expect(await reasonOf(attempt)).toEqual(unknown);
        }
        expect((await list({ contextId: task.contextId }, bob)).totalSize).toBe(0);
        const theirs = taskOf(await bob.sendMessage(send(message("earlier", { contextId: task.contextId })), call));
        expect(dataOf(theirs)).toEqual([]);
      });
    });

    describe("what isn't offered", () => {
      test("push notifications are refused as such (§3.3.4)", async () => {
        const task = await begin("ask");
        const config = create(TaskPushNotificationConfigSchema, { taskId: task.id, url: "https://a.example/hook" });
        await refused(ann.createTaskPushNotificationConfig(config, call), "PUSH_NOTIFICATION_NOT_SUPPORTED");
        await refused(
          ann.getTaskPushNotificationConfig(
            create(GetTaskPushNotificationConfigRequestSchema, { taskId: task.id, id: "1" }),
            call,
          ),
          "PUSH_NOTIFICATION_NOT_SUPPORTED",
        );
        await refused(
          ann.listTaskPushNotificationConfigs(
            create(ListTaskPushNotificationConfigsRequestSchema, { taskId: task.id }),
            call,
          ),
          "PUSH_NOTIFICATION_NOT_SUPPORTED",
        );
        await refused(
          ann.deleteTaskPushNotificationConfig(
            create(DeleteTaskPushNotificationConfigRequestSchema, { taskId: task.id, id: "1" }),
            call,
          ),
          "PUSH_NOTIFICATION_NOT_SUPPORTED",
        );
      });

      test("the extended card is given to who has logged in (§3.1.11)", async () => {
        const card = await ann.getExtendedAgentCard(create(GetExtendedAgentCardRequestSchema), call);
        expect(card.description).toBe("Extended for ann");
      });
    });
  });
}

function dataOf(task: Task): unknown {
  for (const artifact of task.artifacts)
    for (const part of artifact.parts) if (part.content.case === "data") return contentOf([part]).data;
  return undefined;
}

async function refused(attempt: Promise<unknown>, reason: string, says = ""): Promise<void> {
  const [given, text] = await reasonOf(attempt);
  expect([given, text]).toEqual([reason, expect.stringContaining(says)]);
}

async function reasonOf(attempt: Promise<unknown>): Promise<[string, string]> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof A2AError)
      return [error.reason, `${error.message} ${error.violations.map(({ path }) => path).join(" ")}`.trim()];
    throw error;
  }
  throw new Error("Expected a refusal");
}
