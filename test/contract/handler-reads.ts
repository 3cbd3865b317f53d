import { create } from "@bufbuild/protobuf";
import {
  DeleteTaskPushNotificationConfigRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "nuncio/types";
import { describe, expect, test } from "vitest";
import { call, createCalls, dataOf, reasonOf, refused, type Users } from "./handler-calls.js";
import { collect, message, send, taskOf } from "./messages.js";

/** Lists, what isn't one's own, and what isn't offered (§3.1.4, §13.1, §3.3.4). */
export function readContract(on: Users): void {
  const { begin, get, cancel, subscribe, list } = createCalls(on);

  describe("ListTasks", () => {
    test("gives the caller's tasks, newest first, in pages, with an exact total (§3.1.4)", async () => {
      const contextId = `list-${Math.random()}`;
      const ids: string[] = [];
      for (let n = 0; n < 5; n++)
        ids.unshift(taskOf(await on.ann.sendMessage(send(message(`Ada ${n}`, { contextId })), call)).id);
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
        (await list({ contextId, ...(timestamp === undefined ? {} : { statusTimestampAfter: timestamp }) })).tasks.map(
          ({ id }) => id,
        ),
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
      const unknown = await reasonOf(get("01900000-0000-7000-8000-000000000000", undefined, on.bob));
      for (const attempt of [
        get(task.id, undefined, on.bob),
        cancel(task.id, on.bob),
        collect(subscribe(task.id, undefined, on.bob)),
        collect(subscribe(task.id, "1", on.bob)),
        on.bob.sendMessage(send(message("x", { taskId: task.id })), call),
        collect(on.bob.sendStreamingMessage(send(message("x", { taskId: task.id })), call)),
        on.bob.sendMessage(send(message("x", { referenceTaskIds: [task.id] })), call),
      ]) {
        expect(await reasonOf(attempt)).toEqual(unknown);
      }
      expect((await list({ contextId: task.contextId }, on.bob)).totalSize).toBe(0);
      const theirs = taskOf(await on.bob.sendMessage(send(message("earlier", { contextId: task.contextId })), call));
      expect(dataOf(theirs)).toEqual([]);
    });
  });

  describe("what isn't offered", () => {
    test("push notifications are refused as such (§3.3.4)", async () => {
      const task = await begin("ask");
      const config = create(TaskPushNotificationConfigSchema, { taskId: task.id, url: "https://a.example/hook" });
      await refused(on.ann.createTaskPushNotificationConfig(config, call), "PUSH_NOTIFICATION_NOT_SUPPORTED");
      await refused(
        on.ann.getTaskPushNotificationConfig(
          create(GetTaskPushNotificationConfigRequestSchema, { taskId: task.id, id: "1" }),
          call,
        ),
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
      );
      await refused(
        on.ann.listTaskPushNotificationConfigs(
          create(ListTaskPushNotificationConfigsRequestSchema, { taskId: task.id }),
          call,
        ),
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
      );
      await refused(
        on.ann.deleteTaskPushNotificationConfig(
          create(DeleteTaskPushNotificationConfigRequestSchema, { taskId: task.id, id: "1" }),
          call,
        ),
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
      );
    });

    test("the extended card is given to who has logged in (§3.1.11)", async () => {
      const card = await on.ann.getExtendedAgentCard(create(GetExtendedAgentCardRequestSchema), call);
      expect(card.description).toBe("Extended for ann");
    });
  });
}
