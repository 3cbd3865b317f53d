import type { JsonObject } from "@bufbuild/protobuf";
import { agent, serve } from "nuncio";
import { connect } from "nuncio/client";
import type { AgentCardJson } from "nuncio/types";
import { describe, expect, test } from "vitest";
import { answerOf, ask, saying, verdictOf } from "./support/asking.js";
import { exchange, type Operation, requestOf, WIRES } from "./support/exchange.js";
import { served } from "./support/served.js";
import { BINDINGS, quiet, says } from "./support/small-agents.js";

const AGENTS = "urn:nuncio:extension:agents:v1";
const WELL_KNOWN = "/.well-known/agent-card.json";

/** Several of them have a skill of this id. */
const skilled = (name: string) =>
  agent({
    name,
    description: name,
    skills: [
      {
        id: "same",
        description: `Of ${name}`,
        async *run(task) {
          yield task.artifact(`${name}: ${task.input.text}`);
        },
      },
    ],
  });

const agents = { a: skilled("A"), b: skilled("B"), c: says("C") };
const on = served({ trustedProxies: ["127.0.0.1"] }, { agents, default: "b" });

const cardOf = async (url: string, headers: Record<string, string> = {}) =>
  (await (await fetch(`${url}${WELL_KNOWN}`, { headers })).json()) as AgentCardJson;
const listedOn = ({ capabilities }: AgentCardJson) =>
  capabilities?.extensions?.find(({ uri }) => uri === AGENTS)?.params?.agents;
const listOf = async (url: string, headers: Record<string, string> = {}) =>
  ((await (await fetch(`${url}/agents`, { headers })).json()) as { agents: unknown }).agents;
const from = (origin: string) =>
  Object.keys(agents).map((name) => ({ name, card: `${origin}/agents/${name}${WELL_KNOWN}` }));

describe("the agents of a server", () => {
  test("are on the card of the default one, and on no other's", async () => {
    expect(listedOn(await cardOf(on.url))).toEqual(from(on.url));
    expect(await listOf(on.url)).toEqual(from(on.url));
    expect(listedOn(await cardOf(`${on.url}/agents/b`))).toEqual(from(on.url));
    for (const name of ["a", "c"]) expect(listedOn(await cardOf(`${on.url}/agents/${name}`))).toBeUndefined();
  });

  test("have the addresses that a trusted proxy gives them", async () => {
    const forwarded = {
      "x-forwarded-host": "agents.example",
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": "/team",
    };
    const there = from("https://agents.example/team");
    expect(listedOn(await cardOf(on.url, forwarded))).toEqual(there);
    expect(await listOf(on.url, forwarded)).toEqual(there);
    await using named = await serve(
      { agents },
      { ...quiet, publicUrl: "https://public.example/", trustedProxies: ["127.0.0.1"] },
    );
    expect(await listOf(named.url, forwarded)).toEqual(from("https://public.example"));
    await using plain = await serve({ agents }, quiet);
    expect(await listOf(plain.url, forwarded)).toEqual(from(plain.url));
    expect(listedOn(await cardOf(plain.url, forwarded))).toEqual(from(plain.url));
  });

  test("are all found from the default one's card", async () => {
    const found = await Promise.all(from(on.url).map(async ({ card }) => (await connect(card)).card.name));
    expect(found).toEqual(["A", "B", "C"]);
  });

  test("aren't listed by a server that has only one", async () => {
    await using alone = await serve(says("A"), quiet);
    expect(listedOn(await cardOf(alone.url))).toBeUndefined();
    expect(await listOf(alone.url)).toEqual([{ name: "A", card: `${alone.url}/agents/A${WELL_KNOWN}` }]);
  });

  test.each(BINDINGS)("may have skills of the same id, each its own over %s", async (binding) => {
    for (const name of ["a", "b"]) {
      await using peer = await connect(`${on.url}/agents/${name}`, { bindings: [binding] });
      expect((await peer.send("x", { skill: "same" })).text).toBe(`${name.toUpperCase()}: x`);
    }
  });
});

describe.each(WIRES)("over %s", (wire) => {
  const calls: readonly [Operation, JsonObject][] = [
    ["SendMessage", saying("x")],
    ["SendStreamingMessage", saying("x")],
    ["GetTask", { id: "t" }],
    ["ListTasks", {}],
    ["CancelTask", { id: "t" }],
    ["SubscribeToTask", { id: "t" }],
    ["ListTaskPushNotificationConfigs", { taskId: "t" }],
    ["GetExtendedAgentCard", {}],
  ];

  test("a tenant reaches its agent, none and its name the default one", async () => {
    const answerFor = async (tenant: JsonObject) => {
      const { task } = answerOf<{ task: { artifacts: { parts: { text: string }[] }[] } }>(
        await ask(on.url, wire, "SendMessage", saying("x", {}, tenant)),
      );
      return task.artifacts[0]?.parts[0]?.text;
    };
    const answers = [
      await answerFor({ tenant: "a" }),
      await answerFor({ tenant: "c" }),
      await answerFor({ tenant: "b" }),
    ];
    expect([...answers, await answerFor({})]).toEqual(["A: x", "C: x", "B: x", "B: x"]);
  });

  test.each(["nobody", "A", "a/b", " a"])(
    "the tenant %j is unknown to every operation, and said so",
    async (tenant) => {
      for (const [operation, request] of calls) {
        const outcome = await ask(on.url, wire, operation, { ...request, tenant });
        expect([operation, verdictOf(outcome), outcome.error?.fields]).toEqual([
          operation,
          "INVALID_PARAMS",
          ["tenant"],
        ]);
        expect(outcome.error?.message).toBe("Invalid parameters: tenant: is not known here");
      }
    },
  );
});

test("over HTTP+JSON a tenant in the body or the query is judged as on the other wires", async () => {
  const sent = requestOf("HTTP+JSON", "SendMessage", {});
  const said = async (tenant: string, path = sent.path) =>
    (
      await exchange(on.url, "HTTP+JSON", {
        ...sent,
        path,
        body: Buffer.from(JSON.stringify({ ...saying("x"), tenant })),
      })
    ).body.toString();
  expect(await said("nobody")).toContain("tenant: is not known here");
  expect(await said("a")).toContain("A: x");
  expect(await said("c", "/a2a/a/message:send")).toContain("tenant: is another in the path");
  const listed = await exchange(on.url, "HTTP+JSON", {
    ...requestOf("HTTP+JSON", "ListTasks", {}),
    path: "/a2a/tasks?tenant=nobody",
  });
  expect([listed.status, listed.body.toString()]).toEqual([400, expect.stringContaining("tenant: is not known here")]);
});

test.each([[null], [undefined], ["hello"], [[says("A")]]])(
  "agents that have no names are refused: %j",
  async (given) => {
    const several = { agents: given } as unknown as Parameters<typeof serve>[0];
    await expect(serve(several, quiet)).rejects.toThrow(
      new TypeError("agents must be an object that gives each agent its name: serve({ agents: { hello, trip } })"),
    );
  },
);
