import type { JsonObject } from "@bufbuild/protobuf";
import { A2AError, agent, serve } from "nuncio";
import { connect } from "nuncio/client";
import { Role, TaskState } from "nuncio/types";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Journal } from "../../src/journal/journal.js";
import { openSqlJournal } from "../../src/journal/open.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { systemRuntime } from "../../src/runtime/runtime.js";
import { answerOf, ask, saying, verdictOf } from "../support/asking.js";
import { exchange, requestOf, WIRES } from "../support/exchange.js";
import { startRawServer, streamHead } from "../support/raw-server.js";
import { scripted } from "../support/scripted-agent.js";
import { served } from "../support/served.js";
import { BINDINGS, quiet } from "../support/small-agents.js";

const on = served();

type Event = {
  task?: { id: string; status: { state: string }; artifacts?: { parts: { text: string }[] }[] };
  statusUpdate?: { status: { state: string } };
  artifactUpdate?: {
    append?: boolean;
    lastChunk?: boolean;
    artifact: { artifactId: string; parts: { text: string }[] };
  };
};

describe.each(WIRES)("over %s", (wire) => {
  const stream = async (request: JsonObject) => {
    const { messages, error } = await ask(on.url, wire, "SendStreamingMessage", request);
    expect(error).toBeUndefined();
    return messages as unknown as Event[];
  };
  const sent = async (text: string) =>
    answerOf<{ task: { id: string } }>(await ask(on.url, wire, "SendMessage", saying(text))).task.id;

  test("S-07: a stream that can't begin is the refusal itself, not a 200 with an event in it", async () => {
    const ended = await sent("Ada");
    for (const [operation, request, verdict, http] of [
      ["SendStreamingMessage", saying("x", { taskId: "nope" }), "TASK_NOT_FOUND", 404],
      ["SendStreamingMessage", saying("x", { taskId: ended }), "UNSUPPORTED_OPERATION", 400],
      ["SendStreamingMessage", saying("x", { parts: [] }), "INVALID_PARAMS", 400],
      ["SubscribeToTask", { id: "nope" }, "TASK_NOT_FOUND", 404],
      ["SubscribeToTask", { id: ended }, "UNSUPPORTED_OPERATION", 400],
    ] as const) {
      const received = await exchange(on.url, wire, requestOf(wire, operation, request));
      const outcome = await ask(on.url, wire, operation, request);
      expect([verdictOf(outcome), outcome.messages]).toEqual([verdict, []]);
      expect(received.headers["content-type"]).not.toContain("event-stream");
      if (wire === "HTTP+JSON") expect(received.status).toBe(http);
    }
  });

  test("S-09: of two hundred tasks none is told to be done before its artifact", async () => {
    for (let round = 0; round < 4; round++) {
      const all = await Promise.all(Array.from({ length: 50 }, (_, n) => stream(saying(`Ada ${n}`))));
      for (const events of all) {
        expect(events.map((event) => Object.keys(event)[0])).toEqual(["task", "artifactUpdate", "statusUpdate"]);
        expect(events[2]?.statusUpdate?.status.state).toBe("TASK_STATE_COMPLETED");
      }
    }
  });

  test("S-10: the stream of a follow-up begins with the Task, not with an update", async () => {
    const events = await stream(saying("complete thanks", { taskId: await sent("ask") }));
    expect(events.map((event) => Object.keys(event)[0])).toEqual(["task", "statusUpdate"]);
  });

  test("S-13: the pieces of an artifact are what GetTask gives as one", async () => {
    const events = await stream(saying("chunks one|two|three"));
    const pieces = events.flatMap(({ artifactUpdate }) => (artifactUpdate === undefined ? [] : [artifactUpdate]));
    expect(pieces.map(({ append = false, lastChunk = false }) => [append, lastChunk])).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ]);
    const task = answerOf<NonNullable<Event["task"]>>(
      await ask(on.url, wire, "GetTask", { id: events[0]?.task?.id ?? "" }),
    );
    const whole = task.artifacts?.[0]?.parts.map(({ text }) => text).join("");
    expect([task.artifacts?.length, whole]).toEqual([
      1,
      pieces.flatMap(({ artifact }) => artifact.parts.map(({ text }) => text)).join(""),
    ]);
  });
});

describe("an agent that fails in the middle of a stream", () => {
  const failing = agent({
    name: "Failing",
    description: "Fails after its first event",
    handler: {
      async *sendStreamingMessage() {
        yield { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x" }] } };
      },
      async *subscribeToTask({ id }) {
        yield { task: { id, contextId: "c", status: { state: "TASK_STATE_WORKING" } } };
        throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", "No such type");
      },
    },
  });
  const on = served({}, failing);

  test.each(WIRES)("S-08: what was said stands, and the failure comes after it in the form of %s", async (wire) => {
    const outcome = await ask(on.url, wire, "SubscribeToTask", { id: "t" });
    expect([outcome.messages.length, verdictOf(outcome), outcome.error?.message]).toEqual([
      1,
      "CONTENT_TYPE_NOT_SUPPORTED",
      "No such type",
    ]);
  });

  test.each(BINDINGS)("S-08: a client over %s gets both", async (binding) => {
    await using peer = await connect(on.url, { bindings: [binding] });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const event of peer.subscribe("t")) seen.push(event.payload.case);
    })();
    await expect(reading).rejects.toMatchObject({ reason: "CONTENT_TYPE_NOT_SUPPORTED", message: "No such type" });
    expect(seen).toEqual(["task"]);
  });
});

describe("a task that waits for an authorization", () => {
  let journal: Journal;
  let server: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    journal = await openSqlJournal({ target: "memory:", runtime: systemRuntime, logger: silentLogger });
    server = await serve(scripted, { ...quiet, journal });
  });
  afterAll(async () => {
    await server?.close();
    await journal?.close();
  });

  test.each(BINDINGS)(
    "T-06: answers who waits over %s, and its stream goes on when the authorization has come from elsewhere",
    async (binding) => {
      await using peer = await connect(server.url, { bindings: [binding] });
      const contextId = `auth-${binding}`;
      const append = (state: TaskState) =>
        journal.append({
          taskId: id,
          events: [
            {
              kind: {
                case: "statusUpdated",
                value: {
                  state,
                  message: {
                    messageId: systemRuntime.id(),
                    role: Role.AGENT,
                    parts: [{ content: { case: "text", value: "May I?" } }],
                  },
                },
              },
            },
          ],
        });
      const waiting = peer.send("keep-open", { contextId });
      let id = "";
      await expect
        .poll(
          async () => {
            const page = await peer.handler.listTasks({ contextId } as never, {});
            id = page.tasks[0]?.id ?? "";
            const head = id === "" ? undefined : await journal.head(id, { tenant: "", owner: "anonymous" });
            return head !== undefined && head.holder === undefined;
          },
          { timeout: 10_000 },
        )
        .toBe(true);
      const events = peer.subscribe(id)[Symbol.asyncIterator]();
      expect((await events.next()).value?.task?.status?.state).toBe(TaskState.WORKING);
      expect(await append(TaskState.AUTH_REQUIRED)).toMatchObject({ kind: "ok" });
      expect((await waiting).task?.status?.state).toBe(TaskState.AUTH_REQUIRED);
      expect((await events.next()).value?.payload.value).toMatchObject({ status: { state: TaskState.AUTH_REQUIRED } });
      await append(TaskState.COMPLETED);
      expect((await events.next()).value?.payload.value).toMatchObject({ status: { state: TaskState.COMPLETED } });
      expect((await events.next()).done).toBe(true);
    },
  );
});

test.each(["JSON-RPC", "HTTP+JSON"] as const)(
  "S-16: nothing on the way may hold back, change or compress the events of a stream over %s",
  async (wire) => {
    const request = requestOf(wire, "SendStreamingMessage", saying("Ada"), { "accept-encoding": "gzip, br" });
    const { headers } = await exchange(on.url, wire, request);
    expect(headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(headers).not.toHaveProperty("content-encoding");
  },
);

describe("a client of a stream that another implementation writes", () => {
  const update = (append: boolean, text: string) =>
    JSON.stringify({
      artifactUpdate: { taskId: "t", contextId: "c", append, artifact: { artifactId: "a", parts: [{ text }] } },
    });
  const task = (status: string) => JSON.stringify({ task: { id: "t", contextId: "c", status: { state: status } } });
  const end = JSON.stringify({
    statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } },
  });

  async function reading(frames: readonly string[]) {
    const server = await startRawServer(() => `${streamHead}${frames.join("")}`);
    const peer = await connect({
      name: "Other",
      description: "d",
      version: "1",
      supportedInterfaces: [{ url: server.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
      capabilities: { streaming: true },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [],
    });
    try {
      return await peer.stream("x").reply();
    } finally {
      await server.close();
    }
  }

  test("S-13, S-14: has the whole text, though it began with append and a bare Task came in between", async () => {
    const frames = [
      task("TASK_STATE_WORKING"),
      update(true, "one "),
      task("TASK_STATE_WORKING"),
      update(true, "two"),
      end,
    ];
    expect((await reading(frames.map((frame) => `data: ${frame}\n\n`))).text).toBe("one two");
  });

  test("S-15, S-18: isn't put off by comments, empty data, split lines and missing spaces", async () => {
    const [open, close] = [task("TASK_STATE_WORKING").slice(0, 9), task("TASK_STATE_WORKING").slice(9)];
    const frames = [
      ": ping\n\n",
      `id: 1\r\ndata:${open}\r\ndata:${close}\r\n\r\n`,
      ": ping\n\nid: 2\n\n: ping\n\n",
      "data:\n\n",
      `data: ${update(false, "日本語 😀")}\r\r`,
      `event: message\nretry: 5\ndata: ${end}\n\n`,
    ];
    expect((await reading(frames)).text).toBe("日本語 😀");
  });
});
