import { create } from "@bufbuild/protobuf";
import {
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTasksRequestSchema,
  Role,
  SubscribeToTaskRequestSchema,
  TaskPushNotificationConfigSchema,
} from "nuncio/types";
import { message, send } from "../contract/messages.js";
import { first, refused, same } from "./seen.js";
import type { At } from "./step.js";

/** Another's task is nobody's (§13.1). */
export async function askForAnothers({ caller: { handler, tasks }, other, random, note }: At): Promise<void> {
  const id = random.maybe(other.tasks)?.id ?? "nope";
  note(id);
  await refused("TASK_NOT_FOUND", handler.getTask(create(GetTaskRequestSchema, { id }), {}));
  await refused("TASK_NOT_FOUND", handler.cancelTask(create(CancelTaskRequestSchema, { id }), {}));
  await refused("TASK_NOT_FOUND", first(handler.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), {})));
  await refused("TASK_NOT_FOUND", handler.sendMessage(send(message("x", { taskId: id })), {}));
  await refused(
    "TASK_NOT_FOUND",
    first(handler.sendStreamingMessage(send(message("x", { referenceTaskIds: [id] })), {})),
  );
  const { contextId = "nope" } =
    other.tasks.find((task) => !tasks.some((own) => own.contextId === task.contextId)) ?? {};
  same("total", (await handler.listTasks(create(ListTasksRequestSchema, { contextId }), {})).totalSize, 0);
}

/** Refused, and without any effect: what comes after would show one. */
export async function askForWhatIsWrong({ caller: { handler, tasks }, random, note }: At): Promise<void> {
  const task = random.maybe(tasks);
  const open = random.maybe(tasks.filter(({ hasEnded }) => !hasEnded));
  const id = task?.id ?? "nope";
  const wrong: readonly (readonly [reason: string, what: string, act: () => Promise<unknown>])[] = [
    ["INVALID_PARAMS", "no parts", () => handler.sendMessage(send(message("x", { parts: [] })), {})],
    ["INVALID_PARAMS", "the agent's role", () => handler.sendMessage(send(message("x", { role: Role.AGENT })), {})],
    [
      "INVALID_PARAMS",
      "no messageId",
      () => first(handler.sendStreamingMessage(send(message("x", { messageId: "" })), {})),
    ],
    [
      "INVALID_PARAMS",
      "a negative history",
      () => handler.getTask(create(GetTaskRequestSchema, { id, historyLength: -1 }), {}),
    ],
    ["INVALID_PARAMS", "a page of none", () => handler.listTasks(create(ListTasksRequestSchema, { pageSize: 0 }), {})],
    [
      "INVALID_PARAMS",
      "a token of nobody",
      () => handler.listTasks(create(ListTasksRequestSchema, { pageToken: "x" }), {}),
    ],
    [
      "INVALID_PARAMS",
      "an unknown skill",
      () => handler.sendMessage(send(message("x", { metadata: { skill: "y" } })), {}),
    ],
    ["TASK_NOT_FOUND", "a task of nobody", () => handler.sendMessage(send(message("x", { taskId: `${id}0` })), {})],
    [
      "CONTENT_TYPE_NOT_SUPPORTED",
      "another mode",
      () => handler.sendMessage(send(message("x"), { acceptedOutputModes: ["a/b"] }), {}),
    ],
  ];
  const mismatch = async () => {
    if (open === undefined) return;
    await refused(
      "INVALID_PARAMS",
      handler.sendMessage(send(message("x", { taskId: open.id, contextId: "another" })), {}),
    );
  };
  const [reason, what, act] = random.pick(wrong);
  note(what);
  await refused(reason, act());
  await mismatch();
}

/** Webhooks aren't offered: whatever is asked of them is refused, of any task, and a message that brings one has no effect (§3.3.4). */
export async function askForPush({ caller: { handler, tasks }, other, random, note }: At): Promise<void> {
  const taskId = random.maybe([...tasks, ...other.tasks])?.id ?? "nope";
  const url = random.chance(0.8) ? "https://a.example/hook" : "";
  const config = create(TaskPushNotificationConfigSchema, { taskId, id: "p", url: "https://a.example/hook" });
  const named = { taskId, id: random.pick(["p", "q"]) };
  const inline = { taskPushNotificationConfig: create(TaskPushNotificationConfigSchema, { url }) };
  const ways: readonly (readonly [what: string, act: () => Promise<unknown>])[] = [
    ["create", () => handler.createTaskPushNotificationConfig(config, {})],
    ["send with", () => handler.sendMessage(send(message("Ada"), inline), {})],
    ["stream with", () => first(handler.sendStreamingMessage(send(message("Ada"), inline), {}))],
    ["get", () => handler.getTaskPushNotificationConfig(create(GetTaskPushNotificationConfigRequestSchema, named), {})],
    [
      "list",
      () =>
        handler.listTaskPushNotificationConfigs(create(ListTaskPushNotificationConfigsRequestSchema, { taskId }), {}),
    ],
    [
      "delete",
      () => handler.deleteTaskPushNotificationConfig(create(DeleteTaskPushNotificationConfigRequestSchema, named), {}),
    ],
  ];
  const [what, act] = random.pick(ways);
  note(what, taskId, { url });
  const isWrong = url === "" && what.endsWith("with"); // an operation that isn't offered isn't read, a message is
  await refused(isWrong ? "INVALID_PARAMS" : "PUSH_NOTIFICATION_NOT_SUPPORTED", act());
}
