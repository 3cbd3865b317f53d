import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type BindingName, CallError, connect, type Peer, TaskState } from "nuncio/client";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { partsOf } from "../../src/a2a/content.js";
import { TaskPushNotificationConfigSchema } from "../../src/a2a/types.js";
import { type SdkServer, startSdkServer } from "./support/sdk-server.js";

const bindings: readonly BindingName[] = ["jsonrpc", "http-json", "grpc"];

describe.each(bindings)("our client of an @a2a-js/sdk server over %s", (binding) => {
  let server: SdkServer;
  let peer: Peer;
  beforeAll(async () => {
    vi.spyOn(console, "error").mockImplementation(() => {}); // the foreign server tells its refusals to the console
    server = await startSdkServer();
    peer = await connect(server.url, { bindings: [binding] });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await peer?.[Symbol.asyncDispose]();
    await server?.close();
  });

  test("finds it by its card", () => {
    expect(peer.card).toMatchObject({ name: "Foreign", version: "1.2.3", skills: [{ id: "all" }] });
  });

  test("sends, and waits for the answer", async () => {
    const reply = await peer.send("Ada");
    expect(reply).toMatchObject({ text: "Hello Ada", state: TaskState.COMPLETED });
    expect(reply.task?.history).toHaveLength(1);
  });

  test("gets a direct answer", async () => {
    const reply = await peer.send("direct hi");
    expect(reply.text).toBe("hi");
    expect(reply.task).toBeUndefined();
  });

  test("doesn't wait when it says so; joins; sees the end", async () => {
    const sent = await peer.send("wait joined", { returnImmediately: true });
    const id = sent.task?.id ?? "";
    const events = peer.subscribe(id)[Symbol.asyncIterator]();
    const first = await events.next();
    expect(first.value).toMatchObject({ payload: { case: "task" }, task: { id } });
    server.gate("joined").open();
    const states: (TaskState | undefined)[] = [];
    for (let step = await events.next(); !step.done; step = await events.next()) states.push(step.value.state);
    expect(states.at(-1)).toBe(TaskState.COMPLETED);
    expect((await peer.get(id)).artifacts[0]?.parts).toEqual(partsOf("waited for joined"));
  });

  test("streams text as it grows, events, and the whole reply", async () => {
    const text: string[] = [];
    for await (const chunk of peer.stream("chunks a|b|c").text) text.push(chunk);
    expect(text).toEqual(["a", "b", "c"]);
    const events: unknown[] = [];
    for await (const { payload } of peer.stream("chunks a|b")) events.push(payload.case);
    expect(events[0]).toBe("task");
    expect(events.filter((one) => one === "artifactUpdate")).toHaveLength(2);
    expect(await peer.stream("chunks a|b|c").reply()).toMatchObject({ text: "abc", state: TaskState.COMPLETED });
  });

  test("leaves a stream, and the task goes on", async () => {
    let id = "";
    for await (const { task } of peer.stream("wait left")) {
      id = task?.id ?? "";
      break;
    }
    server.gate("left").open();
    await expect.poll(async () => (await peer.get(id)).status?.state).toBe(TaskState.COMPLETED);
  });

  test("lists what it made, by context", async () => {
    const contextId = randomUUID();
    const made = new Set<string>();
    for (const text of ["one", "two", "three"]) made.add((await peer.send(text, { contextId })).task?.id ?? "");
    const listed = new Set<string>();
    for await (const { id } of peer.list({ contextId, pageSize: 2 })) listed.add(id);
    expect(listed).toEqual(made);
  });

  test("cancels", async () => {
    const sent = await peer.send("until-canceled", { returnImmediately: true });
    const id = sent.task?.id ?? "";
    expect((await peer.cancel(id)).status?.state).toBe(TaskState.CANCELED);
    expect((await peer.get(id)).status?.state).toBe(TaskState.CANCELED);
  });

  test("talks: is asked, and answers", async () => {
    const talk = peer.talk();
    const asked = await talk.send("ask Where to?");
    expect(asked).toMatchObject({ text: "Where to?", state: TaskState.INPUT_REQUIRED });
    const { taskId } = talk;
    const answered = await talk.send("Rome");
    expect(answered).toMatchObject({ text: "Hello Rome", task: { id: taskId } });
    expect(talk.taskId).toBeUndefined();
    expect(talk.contextId).toBe(asked.task?.contextId);
  });

  test("gets parts of every kind back as they went", async () => {
    const parts = [
      { text: "mirror 日本語 👩‍👧", mediaType: "text/plain" },
      { raw: "AAEC/f7/", filename: "bytes.png", mediaType: "image/png" },
      { url: "https://example.org/a?b=c#d", filename: "a b.png", mediaType: "image/png" },
      { data: { deep: { list: [1, 2.5, -0.25, true, false, null, "", {}, []] } } },
      { data: ["an", "array"] },
      { data: "a string" },
      { data: 0 },
      { data: false },
    ];
    const { task } = await peer.send(parts);
    expect(task?.artifacts[0]?.parts).toEqual(partsOf(parts));
  });

  test("activates extensions", async () => {
    const extended = await connect(server.url, {
      bindings: [binding],
      extensions: ["urn:x:1", "urn:x:unknown", "urn:x:2"],
    });
    await extended.send("hi");
    expect(server.extensions.at(-1)).toEqual(["urn:x:1", "urn:x:2"]);
    await extended[Symbol.asyncDispose]();
  });

  test("is told that a task ended badly, with the task", async () => {
    const failure = await peer.send("fail so it goes").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CallError);
    expect(failure).toMatchObject({
      outcome: "done",
      message: "so it goes",
      task: { status: { state: TaskState.FAILED } },
    });
  });

  test("reads the reasons of errors, and knows that nothing was done", async () => {
    const unknown = randomUUID();
    const done = (await peer.send("done")).task?.id ?? "";
    const all = async (stream: AsyncIterable<unknown>) => {
      for await (const _ of stream);
    };
    const cases: [what: string, act: () => Promise<unknown>, reason: string][] = [
      ["get", () => peer.get(unknown), "TASK_NOT_FOUND"],
      ["cancel", () => peer.cancel(unknown), "TASK_NOT_FOUND"],
      ["answer", () => peer.send("x", { taskId: unknown }), "TASK_NOT_FOUND"],
      ["stream", () => all(peer.stream("x", { taskId: unknown })), "TASK_NOT_FOUND"],
      ["subscribe", () => all(peer.subscribe(unknown)), "TASK_NOT_FOUND"],
      ["cancel what is done", () => peer.cancel(done), "TASK_NOT_CANCELABLE"],
      ["answer what is done", () => peer.send("x", { taskId: done }), "UNSUPPORTED_OPERATION"],
      ["subscribe to what is done", () => all(peer.subscribe(done)), "UNSUPPORTED_OPERATION"],
      ["too large a page", () => all(peer.list({ pageSize: 101 })), "INVALID_PARAMS"],
      [
        "push",
        () =>
          peer.handler.createTaskPushNotificationConfig(
            create(TaskPushNotificationConfigSchema, { taskId: done, url: "https://example.org/" }),
            {},
          ),
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
      ],
      ["extended card", () => peer.extendedCard(), "UNSUPPORTED_OPERATION"],
    ];
    const seen: unknown[] = [];
    for (const [what, act] of cases) {
      const error = await act().then(
        () => ({ reason: "none", outcome: "none" }),
        (cause: { reason: string; outcome?: string }) => cause,
      );
      seen.push([what, error.reason, error.outcome ?? "not-sent"]);
    }
    expect(seen).toEqual(cases.map(([what, , reason]) => [what, reason, "not-sent"]));
  });

  test("an aborted call rejects with the signal's reason, and the next one works", async () => {
    const controller = new AbortController();
    const why = new Error("enough");
    const waiting = peer.send("wait aborted", { signal: controller.signal });
    const failed = expect(waiting).rejects.toBe(why);
    controller.abort(why);
    await failed;
    server.gate("aborted").open();
    expect((await peer.send("Ada")).text).toBe("Hello Ada");
  });
});
