import { create, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { Call } from "../../src/a2a/call.js";
import { A2AError } from "../../src/a2a/errors.js";
import type { Handler } from "../../src/a2a/handler.js";
import { setPosition } from "../../src/a2a/position.js";
import {
  AgentCardSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  ListTasksResponseSchema,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from "../../src/a2a/types.js";

/** A Handler in memory whose tasks do what their id, or the text of the message, says. It notes every call. */
export interface FakeHandler extends Handler {
  readonly calls: { readonly name: keyof Handler; readonly request: Message; readonly call: Call }[];
  readonly tasks: Map<string, Task>;
  /** Streams that have begun and not been finished; calls that wait for `letGo`; chunks that were asked for. */
  readonly open: { streams: number; waits: number; produced: number };
  /** Lets every `hold` go on. */
  letGo(): void;
}

/**
 * Texts and ids with a meaning: `fail` throws an ordinary Error, `late-fail` after two events, `hold` waits for `letGo` or the signal,
 * `deaf` waits for ever and ignores the signal, `empty` gives no event, `count:N` gives N chunks, `big:N` 64 chunks of N characters.
 */
export function fakeHandler(): FakeHandler {
  const tasks = new Map<string, Task>();
  const calls: FakeHandler["calls"] = [];
  const open = { streams: 0, waits: 0, produced: 0 };
  const holds = new Set<() => void>();
  const note = (name: keyof Handler, request: Message, call: Call) => void calls.push({ name, request, call });

  function hold(signal: AbortSignal | undefined): Promise<void> {
    open.waits++;
    return new Promise<void>((resolve, reject) => {
      holds.add(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    }).finally(() => open.waits--);
  }

  function find(id: string): Task {
    const task = tasks.get(id);
    if (task === undefined) throw new A2AError("TASK_NOT_FOUND");
    return task;
  }

  async function* events(task: Task, command: string, call: Call): AsyncGenerator<StreamResponse> {
    open.streams++;
    try {
      if (command === "empty") return;
      if (command === "fail") throw new Error("secret: the database is at postgres://u:p@h");
      const from = Number(call.after ?? 0);
      if (from === 0) yield setPosition(streamOf({ case: "task", value: task }), "1");
      const [kind, number = "2"] = command.split(":");
      const chunks = kind === "big" ? 64 : kind === "count" ? Number(number) : 2;
      for (let at = Math.max(2, from + 1); at < chunks + 2; at++) {
        open.produced++;
        yield setPosition(chunk(task, kind === "big" ? "x".repeat(Number(number)) : `${at}`), `${at}`);
      }
      if (command === "late-fail") throw new A2AError("INVALID_AGENT_RESPONSE");
      if (command === "hold") await hold(call.signal);
      if (command === "deaf") await new Promise(() => undefined);
      yield streamOf({
        case: "statusUpdate",
        value: { taskId: task.id, contextId: task.contextId, status: { state: TaskState.COMPLETED } },
      });
    } finally {
      open.streams--;
    }
  }

  return {
    calls,
    tasks,
    open,
    letGo: () => {
      for (const go of holds) go();
      holds.clear();
    },
    async sendMessage(request, call) {
      note("sendMessage", request, call);
      const command = textOf(request);
      if (command === "fail") throw new Error("secret: the database is at postgres://u:p@h");
      if (command === "hold") await hold(call.signal);
      if (command.startsWith("refuse:"))
        throw new A2AError(command.slice(7), undefined, { metadata: { retryAfterMs: "1500" } });
      return create(SendMessageResponseSchema, { payload: { case: "task", value: remember(tasks, command) } });
    },
    async *sendStreamingMessage(request, call) {
      note("sendStreamingMessage", request, call);
      const { message } = request;
      if (message?.taskId) find(message.taskId);
      yield* events(remember(tasks, textOf(request)), textOf(request), call);
    },
    async getTask(request, call) {
      note("getTask", request, call);
      return find(request.id);
    },
    async listTasks(request, call) {
      note("listTasks", request, call);
      return create(ListTasksResponseSchema, { tasks: [...tasks.values()], totalSize: tasks.size, pageSize: 50 });
    },
    async cancelTask(request, call) {
      note("cancelTask", request, call);
      return find(request.id);
    },
    async *subscribeToTask(request, call) {
      note("subscribeToTask", request, call);
      yield* events(find(request.id), request.id, call);
    },
    async createTaskPushNotificationConfig(request, call) {
      note("createTaskPushNotificationConfig", request, call);
      return request;
    },
    async getTaskPushNotificationConfig(request, call) {
      note("getTaskPushNotificationConfig", request, call);
      return create(TaskPushNotificationConfigSchema, {
        id: request.id,
        taskId: request.taskId,
        url: "https://hook.example/",
      });
    },
    async listTaskPushNotificationConfigs(request, call) {
      note("listTaskPushNotificationConfigs", request, call);
      return create(ListTaskPushNotificationConfigsResponseSchema);
    },
    async deleteTaskPushNotificationConfig(request, call) {
      note("deleteTaskPushNotificationConfig", request, call);
      return create(EmptySchema);
    },
    async getExtendedAgentCard(request, call) {
      note("getExtendedAgentCard", request, call);
      return create(AgentCardSchema, { name: "Extended" });
    },
  };
}

function remember(tasks: Map<string, Task>, command: string): Task {
  const task = create(TaskSchema, {
    id: command === "" ? `task-${tasks.size + 1}` : command,
    contextId: "context",
    status: { state: TaskState.WORKING },
  });
  tasks.set(task.id, task);
  return task;
}

function chunk(task: Task, text: string): StreamResponse {
  const parts = [{ content: { case: "text", value: text } as const }];
  return streamOf({
    case: "artifactUpdate",
    value: { taskId: task.id, contextId: task.contextId, artifact: { artifactId: "a", parts } },
  });
}

function streamOf(
  payload: NonNullable<Parameters<typeof create<typeof StreamResponseSchema>>[1]>["payload"],
): StreamResponse {
  return create(StreamResponseSchema, payload === undefined ? {} : { payload });
}

function textOf({
  message,
}: {
  message?: { parts: readonly { content: { case?: string | undefined; value?: unknown } }[] } | undefined;
}): string {
  const content = message?.parts[0]?.content;
  return content?.case === "text" ? String(content.value) : "";
}
