import { create } from "@bufbuild/protobuf";
import { A2AError, serve } from "nuncio";
import { connect } from "nuncio/client";
import { GetTaskRequestSchema } from "nuncio/types";
import { describe, expect, test, vi } from "vitest";
import { silentLogger } from "../src/runtime/logger.js";
import { saying } from "./support/asking.js";
import { exchange, requestOf, WIRES } from "./support/exchange.js";
import { byHeader } from "./support/serving.js";
import { BINDINGS, quiet, says } from "./support/small-agents.js";

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

  test("an unknown tenant is InvalidParams; the list of agents says where their cards are", async () => {
    await using server = await serve({ agents: { a: says("A"), b: says("B") } }, quiet);
    const headers = { "a2a-version": "1.0", "content-type": "application/json" };
    const rpc = await fetch(`${server.url}/a2a`, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "x", tenant: "c" } }),
    });
    expect(await rpc.json()).toMatchObject({ error: { code: -32602 } });
    expect((await fetch(`${server.url}/a2a/c/tasks`, { headers })).status).toBe(400);
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

  test.each(WIRES)("each caller who isn't let in over %s is one warning, which holds no credential", async (wire) => {
    const warn = vi.fn();
    const denied = {
      type: "custom" as const,
      scheme: { httpAuthSecurityScheme: { scheme: "Bearer" } },
      authenticate: ({ headers }: { headers: Headers }) => {
        const token = headers.get("authorization");
        if (token === "Bearer narrow-secret") throw new A2AError("PERMISSION_DENIED", `No scope for ${token}`);
        if (token === "Bearer broken-secret") throw new Error(`Can't look up ${token}`);
        return undefined;
      },
    };
    await using server = await serve(says("A"), {
      ...quiet,
      logger: { ...silentLogger, warn },
      auth: { ...byHeader, denied },
    });
    const reasons: unknown[] = [];
    for (const authorization of ["Bearer unknown-secret", "Bearer narrow-secret", "Bearer broken-secret"]) {
      for (const operation of ["ListTasks", "SendStreamingMessage"] as const) {
        const sent = requestOf(wire, operation, operation === "ListTasks" ? {} : saying("x"), { authorization });
        await exchange(server.url, wire, { ...sent, path: `${sent.path}?key=query-secret` });
        expect(warn).toHaveBeenCalledTimes(1);
        const [details, text] = warn.mock.calls[0] as [Record<string, unknown>, string];
        expect([text, details.remoteAddress, details.path]).toEqual([
          "A caller was not let in",
          "127.0.0.1",
          sent.path,
        ]);
        expect(JSON.stringify(details)).not.toContain("secret");
        reasons.push([details.reason, details.scheme]);
        warn.mockClear();
      }
    }
    const expected = [
      ["UNAUTHENTICATED", undefined],
      ["PERMISSION_DENIED", "denied"],
      ["UNAUTHENTICATED", "denied"],
    ];
    expect(reasons).toEqual(expected.flatMap((one) => [one, one]));
    await exchange(server.url, wire, requestOf(wire, "ListTasks", {}, { "x-user": "ann" }));
    expect(warn).not.toHaveBeenCalled();
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
