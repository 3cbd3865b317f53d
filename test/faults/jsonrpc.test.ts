import { agent, extension } from "nuncio";
import { describe, expect, test } from "vitest";
import { answerOf, ask, saying, tell, verdictOf } from "../support/asking.js";
import { exchange, type Headers, requestOf, WIRES } from "../support/exchange.js";
import { jsonTextsOf } from "../support/outcome.js";
import { served } from "../support/served.js";

const on = served();
const plain = on;

describe.each(WIRES)("over %s", (wire) => {
  const gRpc = wire !== "JSON-RPC" && wire !== "HTTP+JSON";
  const versions: [string | undefined, string][] = [
    ["1.0", "ok"],
    ["1.0.7", "ok"],
    [undefined, gRpc ? "ok" : "VERSION_NOT_SUPPORTED"], // the package of the service names the version
    ["", gRpc ? "ok" : "VERSION_NOT_SUPPORTED"],
    ["0.3", "VERSION_NOT_SUPPORTED"],
    ["2.0", "VERSION_NOT_SUPPORTED"],
    ["1.0, 2.0", "INVALID_PARAMS"],
  ];
  test.each(versions)("Q-05: A2A-Version %j means what the specification says", async (version, verdict) => {
    const sent = requestOf(wire, "ListTasks", { pageSize: 1 });
    const { "a2a-version": _, ...without } = sent.headers;
    const headers: Headers = version === undefined ? without : { ...without, "a2a-version": version };
    const outcome = await tell(on.url, wire, "ListTasks", { ...sent, headers });
    expect(verdictOf(outcome)).toBe(verdict);
    if (verdict === "VERSION_NOT_SUPPORTED") expect(outcome.error?.metadata).toEqual({ supportedVersions: "1.0" });
  });

  test("Q-03: the details of an error are objects with a @type, ErrorInfo first", async () => {
    const { error } = await ask(on.url, wire, "GetTask", { id: "nope" });
    expect(error).toMatchObject({ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" }); // reading it asserts each @type
  });
});

test.each(["JSON-RPC", "HTTP+JSON"] as const)("Q-05: the version may be a query parameter over %s", async (wire) => {
  const sent = requestOf(wire, "ListTasks", {});
  const { "a2a-version": _, ...headers } = sent.headers;
  const at = (query: string, more: Headers = {}) =>
    tell(on.url, wire, "ListTasks", { ...sent, path: `${sent.path}?${query}`, headers: { ...headers, ...more } });
  expect(verdictOf(await at("A2A-Version=1.0"))).toBe("ok");
  expect(verdictOf(await at("A2A-Version=2.0"))).toBe("VERSION_NOT_SUPPORTED");
  expect(verdictOf(await at("A2A-Version=1.0", { "a2a-version": "0.3" }))).toBe("INVALID_PARAMS");
});

test("Q-05: a method of 0.3 isn't found under 1.0, and isn't run", async () => {
  const sent = requestOf("JSON-RPC", "ListTasks", {});
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}');
  expect(verdictOf(await tell(on.url, "JSON-RPC", "ListTasks", { ...sent, body }))).toBe("METHOD_NOT_FOUND");
});

test("Q-04: each frame of a stream is a whole response under the request's id, and the end is the end", async () => {
  const received = await exchange(
    on.url,
    "JSON-RPC",
    requestOf("JSON-RPC", "SendStreamingMessage", saying("chunks a|b")),
  );
  const frames = jsonTextsOf(received).map((text) => JSON.parse(text) as Record<string, unknown>);
  expect(frames.length).toBe(4);
  for (const frame of frames) expect(Object.keys(frame)).toEqual(["jsonrpc", "id", "result"]);
  expect(received.body.toString()).not.toMatch(/\{\}\s*$|\[DONE\]/);
});

describe("an extension that an agent requires", () => {
  const strict = extension({ uri: "https://x.example/strict/v1", description: "Must be there", required: true });
  const other = extension({ uri: "https://x.example/other/v1", description: "May be there" });
  const guarded = agent({
    name: "Guarded",
    description: "Says which extensions it sees",
    extensions: [strict, other],
    async *run(task) {
      yield task.artifact({ data: [...task.extensions] });
    },
  });
  const on = served({}, guarded);

  describe.each(WIRES)("over %s", (wire) => {
    test("Q-06: is asked for when a request doesn't name it, also in another version", async () => {
      for (const headers of [{}, { "a2a-extensions": "" }, { "a2a-extensions": "https://x.example/strict/v2" }])
        expect(verdictOf(await ask(on.url, wire, "GetTask", { id: "t" }, headers as Headers))).toBe(
          "EXTENSION_SUPPORT_REQUIRED",
        );
    });

    test.each([
      ["a list with spaces", { "a2a-extensions": "https://x.example/other/v1 ,  https://x.example/strict/v1" }],
      ["the older name", { "x-a2a-extensions": "https://x.example/strict/v1,https://x.example/other/v1" }],
      [
        "both names",
        { "a2a-extensions": "https://x.example/strict/v1", "x-a2a-extensions": "https://x.example/other/v1" },
      ],
    ] as [string, Headers][])("Q-06: is seen in %s, and reaches the agent", async (_how, headers) => {
      const { task } = answerOf<{ task: { artifacts: { parts: { data: string[] }[] }[] } }>(
        await ask(on.url, wire, "SendMessage", saying("x"), headers),
      );
      expect([...(task.artifacts[0]?.parts[0]?.data ?? [])].sort()).toEqual([other.uri, strict.uri]);
    });

    test.each(["SendMessage", "SendStreamingMessage"] as const)(
      "Q-06: the answer of %s says which are activated: those the agent has, in the caller's order, each once",
      async (operation) => {
        const echoed = async (extensions: Headers) =>
          (await exchange(on.url, wire, requestOf(wire, operation, saying("x"), extensions))).headers["a2a-extensions"];
        const unknown = "https://unknown.example/1";
        const asked = [other.uri, unknown, strict.uri, other.uri].join(",");
        expect(await echoed({ "a2a-extensions": asked })).toBe(`${other.uri}, ${strict.uri}`);
        expect(await echoed({ "x-a2a-extensions": strict.uri })).toBe(strict.uri);
        expect(await echoed({})).toBeUndefined(); // refused
      },
    );

    test("Q-06: an answer says nothing of extensions where none is activated", async () => {
      for (const extensions of [{}, { "a2a-extensions": "https://unknown.example/1" }] as Headers[])
        for (const operation of ["SendMessage", "SendStreamingMessage"] as const) {
          const sent = requestOf(wire, operation, saying("Ada"), extensions);
          const { status, headers } = await exchange(plain.url, wire, sent);
          expect([status, headers["a2a-extensions"]]).toEqual([200, undefined]);
        }
    });
  });
});
