/// <reference lib="esnext.disposable" preserve="true" />
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Call } from "../a2a/call.js";
import { type Content, partsOf } from "../a2a/content.js";
import type { Handler } from "../a2a/handler.js";
import { SKILL_METADATA } from "../a2a/our-names.js";
import { isTerminal } from "../a2a/task-state.js";
import {
  type AgentCard,
  ListTasksRequestSchema,
  MessageSchema,
  Role,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type StreamResponse,
  type Task,
  TaskState,
} from "../a2a/types.js";
import type { Runtime } from "../runtime/runtime.js";
import { DEFAULT_TIMEOUT_MS, deadlineOf } from "./deadline.js";
import { callError } from "./outcome.js";
import { assertEndedWell, type Reply, replyOf } from "./reply.js";
import { createTaskStream, type TaskStream } from "./task-stream.js";

/** How a call is made. */
export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. The task goes on. */
  signal?: AbortSignal | undefined;
  /** In milliseconds. Default 30 000; none for what ends with the task (`send`, `stream`, `subscribe`). */
  timeoutMs?: number | undefined;
}

/** What goes beside the content of a message (§3.2.2, §4.1.4). */
export interface SendOptions extends CallOptions {
  /** Continues this task. */
  taskId?: string | undefined;
  /** Within this conversation. */
  contextId?: string | undefined;
  /** The skill that the message is for; the peer's card lists them. */
  skill?: string | undefined;
  /** Default: a fresh one for each call. Sent again under the same id, a message is taken once by a peer that says so on its card. */
  messageId?: string | undefined;
  metadata?: JsonObject | undefined;
  extensions?: readonly string[] | undefined;
  referenceTaskIds?: readonly string[] | undefined;
  acceptedOutputModes?: readonly string[] | undefined;
  historyLength?: number | undefined;
  /** Default false: resolves when the task is done or needs something. */
  returnImmediately?: boolean | undefined;
}

/** Which tasks (§3.1.4). Default: all of the caller's. */
export interface ListFilter extends CallOptions {
  contextId?: string | undefined;
  status?: TaskState | undefined;
  /** Inclusive. */
  statusTimestampAfter?: Date | undefined;
  includeArtifacts?: boolean | undefined;
  historyLength?: number | undefined;
  pageSize?: number | undefined;
}

/** A conversation: remembers the context, and the task that waits for an answer. */
export interface Talk {
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
  send(content: Content, options?: SendOptions): Promise<Reply>;
}

/** An agent that one can call. */
export interface Peer extends AsyncDisposable {
  readonly card: AgentCard;
  /** The 11 operations, raw. */
  readonly handler: Handler;
  /**
   * Sends and waits until the task is done or needs something.
   * @throws CallError: `done` when the task ended FAILED, CANCELED or REJECTED; `not-sent` or `unknown` when the call didn't come back.
   */
  send(content: Content, options?: SendOptions): Promise<Reply>;
  stream(content: Content, options?: SendOptions): TaskStream;
  /** Joins a task: the Task first, or, with `after`, exactly what came after it. */
  subscribe(taskId: string, options?: CallOptions & { after?: string | undefined }): TaskStream;
  talk(options?: { contextId?: string | undefined; taskId?: string | undefined }): Talk;
  get(taskId: string, options?: CallOptions & { historyLength?: number | undefined }): Promise<Task>;
  /** Newest first; fetches pages as you read. */
  list(filter?: ListFilter): AsyncIterable<Task>;
  cancel(taskId: string, options?: CallOptions): Promise<Task>;
  /** The card for who has logged in (§3.1.11). */
  extendedCard(options?: CallOptions): Promise<AgentCard>;
}

/** What a peer is made of. */
export interface PeerContext {
  readonly card: AgentCard;
  readonly handler: Handler;
  readonly runtime: Runtime;
  close(): Promise<void>;
}

/** The typed calls over a Handler, whichever wire it speaks. */
export function createPeer({ card, handler, runtime, close }: PeerContext): Peer {
  const request = (content: Content, options: SendOptions): SendMessageRequest =>
    sendRequest(runtime, content, options);
  const peer: Peer = {
    card,
    handler,
    async send(content, options = {}) {
      const answer = await timed(runtime, options, undefined, (call) =>
        handler.sendMessage(request(content, options), { ...call, extensions: options.extensions }),
      );
      return assertEndedWell(replyOf(answer));
    },
    stream: (content, options = {}) =>
      createTaskStream(
        () =>
          opened(runtime, options, (call) =>
            handler.sendStreamingMessage(request(content, options), { ...call, extensions: options.extensions }),
          ),
        options.signal,
      ),
    subscribe: (id, options = {}) =>
      createTaskStream(
        () =>
          opened(runtime, options, (call) =>
            handler.subscribeToTask(
              { $typeName: "lf.a2a.v1.SubscribeToTaskRequest", tenant: "", id },
              { ...call, after: options.after },
            ),
          ),
        options.signal,
      ),
    talk: (options = {}) => createTalk(peer, options),
    get: (id, options = {}) =>
      timed(runtime, options, DEFAULT_TIMEOUT_MS, (call) =>
        handler.getTask(
          {
            $typeName: "lf.a2a.v1.GetTaskRequest",
            tenant: "",
            id,
            ...(options.historyLength === undefined ? {} : { historyLength: options.historyLength }),
          },
          call,
        ),
      ),
    list: (filter = {}) => pages(runtime, handler, filter),
    cancel: (id, options = {}) =>
      timed(runtime, options, DEFAULT_TIMEOUT_MS, (call) =>
        handler.cancelTask({ $typeName: "lf.a2a.v1.CancelTaskRequest", tenant: "", id }, call),
      ),
    extendedCard: (options = {}) =>
      timed(runtime, options, DEFAULT_TIMEOUT_MS, (call) =>
        handler.getExtendedAgentCard({ $typeName: "lf.a2a.v1.GetExtendedAgentCardRequest", tenant: "" }, call),
      ),
    [Symbol.asyncDispose]: close,
  };
  return peer;
}

function sendRequest(runtime: Runtime, content: Content, options: SendOptions): SendMessageRequest {
  const metadata =
    options.skill === undefined ? options.metadata : { ...options.metadata, [SKILL_METADATA]: options.skill };
  const message = create(MessageSchema, {
    messageId: options.messageId ?? runtime.id(),
    role: Role.USER,
    parts: partsOf(content),
    taskId: options.taskId ?? "",
    contextId: options.contextId ?? "",
    ...(metadata === undefined ? {} : { metadata }),
    extensions: [...(options.extensions ?? [])],
    referenceTaskIds: [...(options.referenceTaskIds ?? [])],
  });
  const configuration = create(SendMessageConfigurationSchema, {
    acceptedOutputModes: [...(options.acceptedOutputModes ?? [])],
    returnImmediately: options.returnImmediately ?? false,
    ...(options.historyLength === undefined ? {} : { historyLength: options.historyLength }),
  });
  return create(SendMessageRequestSchema, { message, configuration });
}

async function* pages(runtime: Runtime, handler: Handler, filter: ListFilter): AsyncGenerator<Task, void, void> {
  const { contextId, status, statusTimestampAfter, includeArtifacts, historyLength, pageSize } = filter;
  const request = create(ListTasksRequestSchema, {
    contextId: contextId ?? "",
    status: status ?? TaskState.UNSPECIFIED,
    ...(statusTimestampAfter === undefined ? {} : { statusTimestampAfter: timestampFromDate(statusTimestampAfter) }),
    ...(includeArtifacts === undefined ? {} : { includeArtifacts }),
    ...(historyLength === undefined ? {} : { historyLength }),
    ...(pageSize === undefined ? {} : { pageSize }),
  });
  do {
    const page = await timed(runtime, filter, DEFAULT_TIMEOUT_MS, (call) => handler.listTasks({ ...request }, call));
    yield* page.tasks;
    request.pageToken = page.nextPageToken;
  } while (request.pageToken !== "");
}

function createTalk(peer: Peer, begun: { contextId?: string | undefined; taskId?: string | undefined }): Talk {
  let { contextId, taskId } = begun;
  return {
    get contextId() {
      return contextId;
    },
    get taskId() {
      return taskId;
    },
    async send(content, options = {}) {
      const reply = await peer.send(content, { taskId, ...(taskId === undefined ? { contextId } : {}), ...options });
      contextId = reply.task?.contextId || reply.message?.contextId || contextId;
      taskId = isTerminal(reply.state) ? undefined : reply.task?.id;
      return reply;
    },
  };
}

/** A call with its deadline and its failure told. @throws CallError; an abort rejects with the signal's reason. */
async function timed<T>(
  runtime: Runtime,
  { signal, timeoutMs }: CallOptions,
  defaultMs: number | undefined,
  act: (call: Call) => Promise<T>,
): Promise<T> {
  const deadline = deadlineOf(runtime, signal, timeoutMs ?? defaultMs);
  try {
    return await act({ signal: deadline.signal });
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw callError(error);
  } finally {
    deadline.clear();
  }
}

async function* opened(
  runtime: Runtime,
  { signal, timeoutMs }: CallOptions,
  open: (call: Call) => AsyncIterable<StreamResponse>,
): AsyncGenerator<StreamResponse, void, void> {
  const deadline = deadlineOf(runtime, signal, timeoutMs);
  try {
    yield* open({ signal: deadline.signal });
  } finally {
    deadline.clear();
  }
}
