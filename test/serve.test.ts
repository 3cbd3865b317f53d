import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { A2AError, agent, around, type Decorator, extension, serve } from "nuncio";
import { type BindingName, CallError, connect, TaskState } from "nuncio/client";
import { GetTaskRequestSchema } from "nuncio/types";
import { describe, expect, test, vi } from "vitest";
import { silentLogger } from "../src/runtime/logger.js";
import { type FaultPoint, systemRuntime } from "../src/runtime/runtime.js";
import { byHeader } from "./support/serving.js";

const BINDINGS: readonly BindingName[] = ["jsonrpc", "http-json", "grpc", "grpc-web", "connect"];
const says = (text: string) =>
  agent({
    name: text,
    description: `Says ${text}`,
    async *run(task) {
      yield task.artifact(`${text}: ${task.input.text}`);
    },
  });
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const item of items) read.push(item);
  return read;
}
const quiet = { port: 0, journal: "memory:", logger: silentLogger } as const;

describe("several agents", () => {
  test.each(BINDINGS)("answer under their own cards over %s, and don't see each other's tasks", async (binding) => {
    await using server = await serve({ agents: { a: says("A"), b: says("B") }, default: "a" }, quiet);
    await using first = await connect(server.url, { bindings: [binding] });
    await using second = await connect(`${server.url}/agents/b`, { bindings: [binding] });
    await using named = await connect(`${server.url}/agents/a`, { bindings: [binding] });
    const { text, task } = await first.send("x");
    expect([text, (await second.send("x")).text, (await named.send("x")).text]).toEqual(["A: x", "B: x", "A: x"]);
    expect(await second.get(task?.id ?? "").catch((error: A2AError) => error.reason)).toBe("TASK_NOT_FOUND");
    expect((await named.get(task?.id ?? "")).id).toBe(task?.id);
    const unknown = first.handler.getTask(create(GetTaskRequestSchema, { id: "x" }), {});
    await expect(unknown).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
  });

  test("an unknown tenant is InvalidParams, or no route; the list of agents says where their cards are", async () => {
    await using server = await serve({ agents: { a: says("A"), b: says("B") } }, quiet);
    const headers = { "a2a-version": "1.0", "content-type": "application/json" };
    const rpc = await fetch(`${server.url}/a2a`, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "x", tenant: "c" } }),
    });
    expect(await rpc.json()).toMatchObject({ error: { code: -32602 } });
    expect((await fetch(`${server.url}/a2a/c/tasks`, { headers })).status).toBe(404);
    expect((await fetch(`${server.url}/a2a/b/tasks`, { headers })).status).toBe(200);
    expect(await (await fetch(`${server.url}/agents`)).json()).toEqual({
      agents: ["a", "b"].map((name) => ({ name, card: `${server.url}/agents/${name}/.well-known/agent-card.json` })),
    });
    expect((await fetch(`${server.url}/agents/c/.well-known/agent-card.json`)).status).toBe(404);
    await expect(connect(`${server.url}/agents/c`)).rejects.toMatchObject({
      outcome: "not-sent",
      message: expect.stringContaining("/agents/c/.well-known/agent-card.json (HTTP 404)"),
    });
    expect((await connect(`${server.url}/a2a/`)).card.name).toBe(server.card.name);
  });

  test("the skill that the card shows may be named, also where it was made for an agent without any", async () => {
    await using server = await serve(says("A"), quiet);
    await using peer = await connect(server.url);
    const [shown] = peer.card.skills;
    expect((await peer.send("x", { skill: shown?.id })).text).toBe("A: x");
    await expect(peer.send("x", { skill: "other" })).rejects.toMatchObject({
      reason: "INVALID_PARAMS",
      message: expect.stringContaining(`say one of ${shown?.id}`),
    });
  });

  test("one agent alone has no tenants", async () => {
    await using server = await serve(says("A"), quiet);
    await using peer = await connect(server.url);
    const elsewhere = await connect({
      ...peer.card,
      supportedInterfaces: peer.card.supportedInterfaces.map((one) => ({ ...one, tenant: "b" })),
    });
    await expect(elsewhere.send("x")).rejects.toMatchObject({ reason: "INVALID_PARAMS", outcome: "not-sent" });
  });

  test.each([[{}], [{ "": says("A") }], [{ tasks: says("A") }], [{ "a/b": says("A") }]])(
    "names that can't be paths are refused: %j",
    async (agents) => {
      await expect(serve({ agents }, quiet)).rejects.toThrow(TypeError);
    },
  );
});

describe("who may call", () => {
  test.each(BINDINGS)("a caller whom no authenticator knows is told so over %s", async (binding) => {
    await using server = await serve(says("A"), { ...quiet, auth: byHeader });
    await using stranger = await connect(server.url, { bindings: [binding] });
    await expect(stranger.send("x")).rejects.toMatchObject({ reason: "UNAUTHENTICATED", outcome: "not-sent" });
    await expect(stranger.stream("x").reply()).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    await using known = await connect(server.url, { bindings: [binding], headers: { "x-user": "ann" } });
    expect((await known.send("x")).text).toBe("A: x");
  });

  test("401 comes with a challenge; the card says how to log in, and is public", async () => {
    await using server = await serve(says("A"), { ...quiet, auth: byHeader });
    const response = await fetch(`${server.url}/a2a/tasks`, { headers: { "a2a-version": "1.0" } });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'ApiKey realm="a2a"']);
    expect(server.card.securitySchemes.user?.scheme.case).toBe("apiKeySecurityScheme");
    expect(server.card.securityRequirements).toHaveLength(1);
  });

  test("an authenticator that fails lets nobody in", async () => {
    const broken = {
      broken: {
        type: "custom" as const,
        scheme: { httpAuthSecurityScheme: { scheme: "Bearer" } },
        authenticate: () => Promise.reject(new Error("database down")),
      },
    };
    await using server = await serve(says("A"), { ...quiet, auth: broken });
    await expect((await connect(server.url)).send("x")).rejects.toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.not.stringContaining("database"),
    });
  });

  test("a publicUrl that is none is refused before anything is opened", async () => {
    await expect(serve(says("A"), { ...quiet, publicUrl: "agents.example" })).rejects.toThrow(
      /publicUrl must be a URL/,
    );
  });

  test("what can't be a card is refused before anything is opened", async () => {
    const empty = { empty: { type: "custom" as const, scheme: {}, authenticate: () => undefined } };
    await expect(serve(says("A"), { ...quiet, auth: empty })).rejects.toThrow(/A can't have a card.*securitySchemes/);
  });

  test("an address that others can reach needs auth, or a word that everybody may call", async () => {
    await expect(serve(says("A"), { ...quiet, host: "0.0.0.0" })).rejects.toThrow('auth: "anonymous"');
    await using server = await serve(says("A"), { ...quiet, host: "0.0.0.0", auth: "anonymous" });
    expect(server.url).toMatch(/^http:\/\/0\.0\.0\.0:/);
  });

  test("clear text for everybody is warned of", async () => {
    const logger = { ...silentLogger, warn: vi.fn() };
    await using _server = await serve(says("A"), { ...quiet, logger, host: "0.0.0.0", auth: "anonymous" });
    expect(logger.warn).toHaveBeenCalledWith({ host: "0.0.0.0" }, expect.stringContaining("in clear text"));
  });

  test("tasks are shared by those who have the same owner", async () => {
    await using server = await serve(says("A"), {
      ...quiet,
      auth: byHeader,
      ownerOf: ({ id }) => id.split("@")[1] ?? id,
    });
    const [ann, bob, eve] = await Promise.all(
      ["ann@team", "bob@team", "eve@other"].map((user) => connect(server.url, { headers: { "x-user": user } })),
    );
    const { task } = (await ann?.send("x")) ?? {};
    expect((await bob?.get(task?.id ?? ""))?.id).toBe(task?.id);
    await expect(eve?.get(task?.id ?? "")).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
  });
});

describe("what an agent offers", () => {
  const strict = extension({ uri: "https://x.example/strict", description: "Must be there", required: true });

  test.each(BINDINGS)("a required extension is asked for on every operation over %s", async (binding) => {
    const guarded = agent({ name: "G", description: "G", extensions: [strict], reply: ({ text }) => text });
    await using server = await serve(guarded, quiet);
    await using without = await connect(server.url, { bindings: [binding] });
    await expect(without.send("x")).rejects.toMatchObject({ reason: "EXTENSION_SUPPORT_REQUIRED" });
    await expect(without.get("x")).rejects.toMatchObject({ reason: "EXTENSION_SUPPORT_REQUIRED" });
    await expect(without.stream("x").reply()).rejects.toMatchObject({ reason: "EXTENSION_SUPPORT_REQUIRED" });
    await using having = await connect(server.url, { bindings: [binding], extensions: [strict] });
    expect((await having.send("x")).text).toBe("x");
  });

  test.each(BINDINGS)("a stream is resumed after the position of any of its events over %s", async (binding) => {
    await using server = await serve(says("A"), quiet);
    await using peer = await connect(server.url, { bindings: [binding] });
    const events = await all(peer.stream("x"));
    expect(events.map(({ position }) => position)).toEqual(["2", "3", "4"]);
    const again = await all(peer.subscribe(events[0]?.task?.id ?? "", { after: events[1]?.position }));
    expect(again.map(({ payload, position }) => [payload.case, position])).toEqual([
      ["task", "3"],
      ["statusUpdate", "4"],
    ]);
  });

  test("who activates the extension finds positions in the events' metadata; nobody else does", async () => {
    await using server = await serve(says("A"), quiet);
    await using peer = await connect(server.url);
    const { uri = "" } = peer.card.capabilities?.extensions.find((one) => one.uri.includes(":resume:")) ?? {};
    const metadata = async (extensions: string[]) =>
      (await all(peer.stream("x", { extensions }))).map(({ payload }) => payload.value?.metadata);
    expect(await metadata([uri])).toEqual(["2", "3", "4"].map((position) => ({ [uri]: position })));
    expect(await metadata([])).toEqual([undefined, undefined, undefined]);
  });

  test("what HTTP+JSON answers is kept by no cache", async () => {
    await using server = await serve(says("A"), quiet);
    const response = await fetch(`${server.url}/a2a/tasks`, { headers: { "a2a-version": "1.0" } });
    expect(response.headers.get("cache-control")).toBe("private, no-store");
  });

  test("an agent that doesn't stream says so on its card, and refuses", async () => {
    const plain = agent({ name: "P", description: "P", capabilities: { streaming: false }, reply: () => "x" });
    await using server = await serve(plain, quiet);
    await using peer = await connect(server.url);
    expect(peer.card.capabilities?.streaming).toBe(false);
    await expect(peer.stream("x").reply()).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    await expect(peer.subscribe("x").reply()).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
  });

  test("the extended card: not offered, not for strangers, or given", async () => {
    await using none = await serve(says("A"), quiet);
    await expect((await connect(none.url)).extendedCard()).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
    await using some = await serve(says("A"), {
      ...quiet,
      extendedCard: (_principal, card) => ({ ...card, description: "more" }),
    });
    await expect((await connect(some.url)).extendedCard()).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    await using open = await serve(says("A"), {
      ...quiet,
      extendedCard: { card: (_principal, card) => ({ ...card, description: "more" }), anonymous: true },
    });
    expect((await (await connect(open.url)).extendedCard()).description).toBe("more");
  });

  test("operations written by hand: messages or ProtoJSON, the rest is UnsupportedOperation", async () => {
    const clock = agent({
      name: "Clock",
      description: "Tells the time",
      handler: {
        sendMessage: ({ message }) => ({
          message: { messageId: `re-${message?.messageId}`, role: "ROLE_AGENT", parts: [{ text: "noon" }] },
        }),
        async *sendStreamingMessage({ message }) {
          yield { message: { messageId: `re-${message?.messageId}`, role: "ROLE_AGENT", parts: [{ text: "tick" }] } };
        },
        getTask({ id }) {
          throw new A2AError("TASK_NOT_FOUND", `There is no task ${id}`);
        },
      },
    });
    await using server = await serve(clock, quiet);
    await using peer = await connect(server.url);
    expect((await peer.send("x")).text).toBe("noon");
    expect((await peer.stream("x").reply()).text).toBe("tick");
    await expect(peer.get("7")).rejects.toMatchObject({ reason: "TASK_NOT_FOUND", message: "There is no task 7" });
    await expect(peer.cancel("7")).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });
  });

  test("a client is a Handler, so a proxy is an agent", async () => {
    await using inner = await serve(says("A"), quiet);
    await using upstream = await connect(inner.url);
    await using outer = await serve(
      agent({ name: "Proxy", description: "In front of A", handler: upstream.handler }),
      quiet,
    );
    await using peer = await connect(outer.url);
    expect((await peer.send("x")).text).toBe("A: x");
    expect((await peer.stream("y").reply()).text).toBe("A: y");
  });
});

describe("behind a proxy", () => {
  const cardThrough = async (url: string, headers: Record<string, string>) => {
    const response = await fetch(`${url}/.well-known/agent-card.json`, { headers });
    const card = (await response.json()) as { supportedInterfaces: { url: string }[] };
    return card.supportedInterfaces.map((one) => one.url);
  };
  const forwarded = {
    "x-forwarded-host": "agents.example",
    "x-forwarded-proto": "https",
    "x-forwarded-prefix": "/team",
  };

  test("the card says what a trusted proxy says of its address", async () => {
    await using server = await serve(says("A"), { ...quiet, trustedProxies: ["127.0.0.1"] });
    const urls = await cardThrough(server.url, forwarded);
    expect(urls.slice(0, 3)).toEqual([
      "https://agents.example/team/a2a",
      "https://agents.example/team/a2a",
      "agents.example:443",
    ]);
    expect((await cardThrough(server.url, {}))[0]).toBe(`${server.url}/a2a`);
    expect((await cardThrough(server.url, { ...forwarded, "x-forwarded-host": "a.example/../evil?" }))[0]).toBe(
      `${server.url}/a2a`,
    );
  });

  test("nobody else is believed, and publicUrl wins", async () => {
    await using plain = await serve(says("A"), quiet);
    expect((await cardThrough(plain.url, forwarded))[0]).toBe(`${plain.url}/a2a`);
    await using other = await serve(says("A"), { ...quiet, trustedProxies: ["10.0.0.0/8"] });
    expect((await cardThrough(other.url, forwarded))[0]).toBe(`${other.url}/a2a`);
    await using named = await serve(says("A"), {
      ...quiet,
      trustedProxies: ["127.0.0.1"],
      publicUrl: "https://public.example/",
    });
    expect((await cardThrough(named.url, forwarded))[0]).toBe("https://public.example/a2a");
  });
});

test("decorators see every call, outermost first, and a stream until its end", async () => {
  const seen: string[] = [];
  const timed = around(async (operation, call, next) => {
    seen.push(`${operation} by ${call.principal?.id}`);
    await next();
    seen.push(`${operation} done`);
  });
  const shouting: Decorator = (next) => ({
    ...next,
    sendMessage: async (request, call) => {
      seen.push("inner");
      return next.sendMessage(request, call);
    },
  });
  await using server = await serve(says("A"), { ...quiet, use: [timed, shouting] });
  await using peer = await connect(server.url);
  await peer.send("x");
  await peer.stream("x").reply();
  expect(seen).toEqual([
    "sendMessage by anonymous",
    "inner",
    "sendMessage done",
    "sendStreamingMessage by anonymous",
    "sendStreamingMessage done",
  ]);
});

describe("closing", () => {
  test("lets what runs end, and answers who waits; then nothing is left to keep the process", async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const patient = agent({
      name: "Patient",
      description: "Waits",
      async *run(task) {
        yield task.working("waiting");
        await finished;
        yield task.artifact("done");
      },
    });
    const server = await serve(patient, quiet);
    await using peer = await connect(server.url);
    const reply = peer.send("x");
    await vi.waitFor(async () => {
      for await (const one of peer.list()) expect(one.status?.state).toBe(TaskState.WORKING);
    });
    const closing = server.close();
    finish();
    expect((await reply).text).toBe("done");
    await closing;
    await expect(connect(server.url)).rejects.toSatisfy(
      (error) => error instanceof CallError && error.outcome === "not-sent",
    );
  });

  test("a run that doesn't end in time is FAILED, and who waits is told", async () => {
    const endless = agent({
      name: "Endless",
      description: "Waits",
      async *run(task) {
        yield task.working("waiting");
        await new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason)));
      },
    });
    const server = await serve(endless, { ...quiet, drainMs: 300 });
    await using peer = await connect(server.url);
    const reply = peer.send("x").then(
      () => "answered",
      (error: CallError) => `${error.outcome}: ${error.message}`,
    );
    await vi.waitFor(async () => {
      let tasks = 0;
      for await (const _ of peer.list()) tasks += 1;
      expect(tasks).toBe(1);
    });
    await server.close();
    expect(await reply).toBe("done: The server was shut down while the agent worked on this task");
  });

  test("closes the journal even if the host can't be drained, and says why it couldn't", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nuncio-serve-"));
    const file = join(folder, "tasks.db");
    let broken = true;
    const at = (point: FaultPoint) => {
      if (point !== "drain" || !broken) return;
      broken = false;
      throw new Error("the host is stuck");
    };
    const server = await serve(says("A"), {
      ...quiet,
      journal: `sqlite:${file}`,
      runtime: { ...systemRuntime, at },
    });
    expect(existsSync(`${file}-wal`)).toBe(true);
    await expect(server.close()).rejects.toThrow("the host is stuck");
    expect(existsSync(`${file}-wal`)).toBe(false); // SQLite removes it with the last connection
    rmSync(folder, { recursive: true });
  });
});

test("a journal that can't be opened, or a port that is taken, is an error in one line, and nothing is left open", async () => {
  await expect(serve(says("A"), { ...quiet, journal: "sqlite:/nowhere/at/all.db" })).rejects.toThrow(/nowhere/);
  await using server = await serve(says("A"), quiet);
  await expect(serve(says("A"), { ...quiet, port: Number(new URL(server.url).port) })).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
});

test("a message may wait for room: the task is SUBMITTED until then", async () => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const one = agent({
    name: "One",
    description: "One at a time",
    async *run(task) {
      if (task.input.text === "first") await finished;
      yield task.artifact(task.input.text);
    },
  });
  await using server = await serve(one, { ...quiet, limits: { runningTasks: 1 } });
  await using peer = await connect(server.url);
  const first = await peer.send("first", { returnImmediately: true });
  const second = await peer.send("second", { returnImmediately: true });
  expect([first.state, second.state]).toEqual([TaskState.WORKING, TaskState.SUBMITTED]);
  finish();
  expect((await peer.subscribe(second.task?.id ?? "", { after: "1" }).reply()).text).toBe("second");
});
