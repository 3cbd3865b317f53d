import { randomUUID } from "node:crypto";
import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from "@a2a-js/sdk";
import type { Client, TransportFactory } from "@a2a-js/sdk/client";
import {
  A2AError,
  ContentTypeNotSupportedError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import { type Server, serve } from "nuncio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/runtime/logger.js";
import { gate, scripted } from "../support/scripted-agent.js";
import { byHeader, extended } from "../support/serving.js";
import { collect, isMalformed, type Json, request, sdkClient, transports } from "./support/sdk-client.js";

describe.each(transports)("a client of @a2a-js/sdk over %s", (name, transport) => {
  let server: Server;
  let client: Client;
  beforeAll(async () => {
    server = await serve(scripted, {
      logger: silentLogger,
      port: 0,
      journal: "memory:",
      auth: byHeader,
      extendedCard: extended,
      cancelGraceMs: 200,
      drainMs: 500,
    });
    client = await sdkClient(server.url, transport);
  });
  afterAll(() => server.close());
  behaves(name, () => ({ server, client, transport }));
});

function behaves(name: string, given: () => { server: Server; client: Client; transport: TransportFactory }): void {
  const id = (what: string): string => `${what}-${name}`;
  const send = async (content: string | Json[], more: Json = {}, configuration: Json = {}) => {
    const answer = await given().client.sendMessage(request(content, more, configuration));
    return answer;
  };
  const sendTask = async (...args: Parameters<typeof send>): Promise<Task> => {
    const answer = await send(...args);
    if (!("status" in answer)) throw new Error("A task was expected");
    return answer;
  };

  test("finds the agent by its card, and speaks the transport that was asked for", async () => {
    const { client } = given();
    expect(client.transport.protocolName).toBe(name);
    expect(client.protocolVersion).toBe("1.0");
    const card = await client.getAgentCard();
    expect(card.name).toBe("Scripted");
    expect(card.skills.map((skill) => skill.id)).toEqual(["double", "plain"]);
    expect(card.description).toBe("Extended for ann");
  });

  test("waits for what it sends, and gets the task with all it made", async () => {
    const sent = request("Ada");
    const task = (await given().client.sendMessage(sent)) as Task;
    expect(Task.toJSON(task)).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: "Hello Ada" }] }],
      history: [{ messageId: sent.message?.messageId, taskId: task.id, contextId: task.contextId, role: "ROLE_USER" }],
    });
    expect(task.status?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test("gets a direct answer", async () => {
    const answer = await send("direct hi");
    expect(answer).toMatchObject({ role: 2, parts: [{ content: { $case: "text", value: "hi" } }] });
    expect("status" in answer).toBe(false);
  });

  test("doesn't wait when it says so", async () => {
    const { client } = given();
    const task = await sendTask(`wait ${id("later")}`, {}, { returnImmediately: true });
    expect(Task.toJSON(task)).toMatchObject({ status: { state: "TASK_STATE_WORKING" } });
    gate(id("later")).open();
    const events = await collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task.id }))).catch(
      () => [],
    ); // it may be over by now
    const done = await client.getTask(GetTaskRequest.fromJSON({ id: task.id }));
    expect(Task.toJSON(done)).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: `waited for ${id("later")}` }] }],
    });
    if (events.length > 0) expect(events[0]).toHaveProperty("task");
  });

  test("streams: the task, what it makes in order, its end", async () => {
    const events = await collect(given().client.sendMessageStream(request("chunks a|b|c")));
    expect(Object.keys(events[0] ?? {})).toEqual(["task"]);
    const chunks = events.flatMap((event) => event.artifactUpdate ?? []);
    expect(JSON.stringify(chunks)).toMatch(/"a".*"b".*"c"/);
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
    expect(events.at(-1)).not.toHaveProperty("statusUpdate.final");
  });

  test("streams a direct answer as the one event", async () => {
    const events = await collect(given().client.sendMessageStream(request("direct hi")));
    expect(events).toMatchObject([{ message: { role: "ROLE_AGENT", parts: [{ text: "hi" }] } }]);
  });

  test("joins a task that runs, and sees its end; who leaves a stream doesn't stop the task", async () => {
    const { client } = given();
    const stream = client.sendMessageStream(request(`wait ${id("join")}`));
    const first = await stream.next();
    const taskId = (StreamResponse.toJSON(first.value as StreamResponse) as { task: { id: string } }).task.id;
    await stream.return(undefined);
    const joined = client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: taskId }));
    const snapshot = await joined.next();
    expect(StreamResponse.toJSON(snapshot.value as StreamResponse)).toMatchObject({ task: { id: taskId } });
    gate(id("join")).open();
    expect((await collect(joined)).at(-1)).toMatchObject({
      statusUpdate: { taskId, status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  test("gets and lists, by page and by filter, with as much history as it wants", async () => {
    const { client } = given();
    const contextId = id("listed");
    const made: string[] = [];
    for (const text of ["one", "two", "three"]) made.unshift((await sendTask(text, { contextId })).id);
    const all = await client.listTasks(ListTasksRequest.fromJSON({ contextId }));
    expect(all.tasks.map((task) => task.id)).toEqual(made);
    expect(all).toMatchObject({ totalSize: 3, nextPageToken: "" });
    expect(all.tasks.map(({ artifacts }) => artifacts)).toEqual([[], [], []]);

    const first = await client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2, includeArtifacts: true }));
    expect(first.tasks.map(({ artifacts }) => artifacts.length)).toEqual([1, 1]);
    const { nextPageToken: pageToken } = first;
    const rest = await client.listTasks(
      ListTasksRequest.fromJSON({ contextId, pageSize: 2, includeArtifacts: true, pageToken }),
    );
    expect([...first.tasks, ...rest.tasks].map((task) => task.id)).toEqual(made);

    const failed = await client.listTasks(ListTasksRequest.fromJSON({ contextId, status: "TASK_STATE_FAILED" }));
    expect(failed).toMatchObject({ tasks: [], totalSize: 0 });
    const later = { contextId, statusTimestampAfter: "2100-01-01T00:00:00Z" };
    expect(await client.listTasks(ListTasksRequest.fromJSON(later))).toMatchObject({ tasks: [] });
    expect((await client.getTask(GetTaskRequest.fromJSON({ id: made[0], historyLength: 0 }))).history).toEqual([]);
    expect((await client.getTask(GetTaskRequest.fromJSON({ id: made[0] }))).history).toHaveLength(1);
  });

  test("cancels, and cancels again", async () => {
    const { client } = given();
    const { id: taskId } = await sendTask("until-canceled", {}, { returnImmediately: true });
    for (const _ of [1, 2]) {
      const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: taskId }));
      expect(Task.toJSON(canceled)).toMatchObject({ id: taskId, status: { state: "TASK_STATE_CANCELED" } });
    }
  });

  test("talks: is asked, and answers", async () => {
    const asked = await sendTask("ask Where to?");
    expect(Task.toJSON(asked)).toMatchObject({
      status: { state: "TASK_STATE_INPUT_REQUIRED", message: { parts: [{ text: "Where to?" }] } },
    });
    const answered = await sendTask("Rome", { taskId: asked.id, contextId: asked.contextId });
    expect(Task.toJSON(answered)).toMatchObject({
      id: asked.id,
      contextId: asked.contextId,
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: "Hello Rome" }] }],
    });
    expect(answered.history.map(({ parts }) => parts[0]?.content?.value)).toEqual([
      "ask Where to?",
      "Where to?",
      "Rome",
    ]);
    const again = request("chunks x|y", { contextId: asked.contextId });
    const events = await collect(given().client.sendMessageStream(again));
    expect(events[0]).toMatchObject({ task: { contextId: asked.contextId } });
  });

  test("parts of every kind come back as they went", async () => {
    const parts = [
      {
        text: "mirror 日本語 👩‍👧 \n",
        mediaType: "text/plain",
        metadata: { a: { b: [1, null, "ü", { c: false }] }, "": 0 },
      },
      { raw: "AAEC/f7/", filename: "bytes.png", mediaType: "image/png" },
      { url: "https://example.org/a?b=c#d", filename: "a b.png", mediaType: "image/png" },
      { data: { deep: { list: [1, 2.5, -0.25, 1e21, true, false, null, "", {}, []] } } },
      { data: ["an", "array"] },
      { data: "a string" },
      { data: 0 },
      { data: false },
    ];
    const task = await sendTask(parts);
    const { artifacts } = Task.toJSON(task) as { artifacts: [{ parts: Json[] }] };
    expect(artifacts[0].parts).toEqual(parts);
    const { history } = Task.toJSON(task) as { history: [{ parts: Json[] }] };
    expect(history[0].parts).toEqual(parts);
  });

  test("activates extensions, and says which skill it means", async () => {
    const { client } = given();
    const asked = request([{ data: { n: 21 } }], { metadata: { skill: "double" } });
    const skills = "urn:nuncio:extension:skill:v1";
    const options = { serviceParameters: { "A2A-Extensions": `urn:x:unknown, ${skills}` } };
    const task = (await client.sendMessage(asked, options)) as Task;
    expect(Task.toJSON(task)).toMatchObject({ artifacts: [{ parts: [{ data: { n: 42 } }] }] });
    const facts = (await client.sendMessage(request("facts"), options)) as Task;
    expect(Task.toJSON(facts)).toMatchObject({
      artifacts: [{ parts: [{ data: { principal: "ann", extensions: [skills] } }] }],
    });
  });

  test("reads each error as its own type", async () => {
    const { client } = given();
    const unknown = { id: randomUUID() };
    const done = (await sendTask("done")).id;
    // The foreign client types a malformed request by its number in JSON-RPC, elsewhere by a reason that no specification has.
    const malformed = name === "JSONRPC" ? RequestMalformedError : A2AError;
    const asAnn = { serviceParameters: { "x-user": "ann", "A2A-Version": "1.0" } };
    const cases: [what: string, act: () => Promise<unknown>, type: new (...args: never[]) => Error][] = [
      ["get", () => client.getTask(GetTaskRequest.fromJSON(unknown)), TaskNotFoundError],
      ["cancel", () => client.cancelTask(CancelTaskRequest.fromJSON(unknown)), TaskNotFoundError],
      ["answer", () => send("x", { taskId: unknown.id }), TaskNotFoundError],
      ["stream", () => collect(client.sendMessageStream(request("x", { taskId: unknown.id }))), TaskNotFoundError],
      ["subscribe", () => collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON(unknown))), TaskNotFoundError],
      [
        "cancel what is done",
        () => client.cancelTask(CancelTaskRequest.fromJSON({ id: done })),
        TaskNotCancelableError,
      ],
      ["answer what is done", () => send("x", { taskId: done }), UnsupportedOperationError],
      [
        "subscribe to what is done",
        () => collect(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: done }))),
        UnsupportedOperationError,
      ],
      ["no parts", () => send([]), malformed],
      ["page size", () => client.listTasks(ListTasksRequest.fromJSON({ pageSize: 101 })), malformed],
      [
        "a media type that nobody accepts",
        () => send([{ raw: "AAEC", mediaType: "audio/ogg" }]),
        ContentTypeNotSupportedError,
      ],
      [
        "push",
        () =>
          client.transport.createTaskPushNotificationConfig(
            { tenant: "", id: "", taskId: done, url: "https://example.org/", token: "", authentication: undefined },
            asAnn, // beneath the client, which would refuse by the card without asking
          ),
        PushNotificationNotSupportedError,
      ],
    ];
    for (const [what, act, type] of cases) {
      const error = await act().then(
        () => "nothing",
        (reason: unknown) => reason,
      );
      expect(error, what).toBeInstanceOf(type);
      if (type === malformed) expect(isMalformed(error), what).toBe(true);
    }
  });

  test("sees how a task failed, and nobody else's task", async () => {
    const { server, transport } = given();
    const failed = await sendTask("throw everything");
    expect(Task.toJSON(failed)).toMatchObject({ status: { state: "TASK_STATE_FAILED" } });
    expect(JSON.stringify(Task.toJSON(failed.status === undefined ? failed : { ...failed, history: [] }))).not.toMatch(
      /secret/,
    );
    const bob = await sdkClient(server.url, transport, "bob");
    await expect(bob.getTask(GetTaskRequest.fromJSON({ id: failed.id }))).rejects.toBeInstanceOf(TaskNotFoundError);
  });

  test("sends the same message twice, and it is taken once", async () => {
    const once = request("Ada");
    const first = (await given().client.sendMessage(once)) as Task;
    const second = (await given().client.sendMessage(once)) as Task;
    expect(second.id).toBe(first.id);
  });

  test("gives up by a signal", async () => {
    const { client } = given();
    const controller = new AbortController();
    const waiting = client.sendMessage(request(`wait ${id("given up")}`), { signal: controller.signal });
    const failed = expect(waiting).rejects.toThrow();
    controller.abort();
    await failed;
    gate(id("given up")).open();
  });
}
