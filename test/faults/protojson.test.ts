import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { connect, TaskState } from "nuncio/client";
import { describe, expect, test } from "vitest";
import { answerOf, ask, saying, tell, verdictOf } from "../support/asking.js";
import { binaryOf, exchange, JSON_WIRES, requestOf, rpcRequest, WIRES } from "../support/exchange.js";
import { http, startRawServer } from "../support/raw-server.js";
import { served } from "../support/served.js";

const on = served();

type Sent = { task: { id: string; history: JsonObject[]; artifacts: { parts: JsonObject[] }[] } };

/** The one message in the history of the task that came of `fields`, and its artifact's parts. */
async function sentBack(wire: (typeof WIRES)[number], text: string, fields: JsonObject) {
  const { task } = answerOf<Sent>(await ask(on.url, wire, "SendMessage", saying(text, fields)));
  const read = answerOf<Sent["task"]>(await ask(on.url, wire, "GetTask", { id: task.id }));
  expect(read.history).toEqual(task.history);
  return { message: task.history[0] as JsonObject, parts: task.artifacts[0]?.parts ?? [] };
}

/** As text: in a literal, `__proto__` is no key. */
const hostileKeys = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}') as JsonObject;

describe.each(WIRES)("over %s", (wire) => {
  test("J-08: metadata with a key __proto__ comes back as it went, and pollutes nothing", async () => {
    const { message } = await sentBack(wire, "Ada", { metadata: hostileKeys });
    expect(JSON.stringify(message.metadata)).toBe(JSON.stringify(hostileKeys));
    expect([({} as JsonObject).x, ({} as JsonObject).y]).toEqual([undefined, undefined]);
  });

  test("J-04: null within metadata and as data comes back as null, not as 0 and not as nothing", async () => {
    const metadata = { a: null, b: [null, { c: null }] };
    const parts: JsonObject[] = [{ text: "mirror" }, { data: null }, { data: [null] }];
    const { message, parts: mirrored } = await sentBack(wire, "", { metadata, parts });
    expect(message.metadata).toEqual(metadata);
    expect(message.parts).toEqual(parts);
    expect(mirrored).toEqual(parts);
  });

  test("J-09: a number beyond 2^53 in metadata is the nearest double, the same on every wire", async () => {
    const exact = JSON.parse('{"n":9007199254740993,"one":1.0,"zero":-0}') as JsonObject;
    const { message } = await sentBack(wire, "Ada", { metadata: exact });
    expect(JSON.stringify(message.metadata)).toBe('{"n":9007199254740992,"one":1,"zero":0}');
  });

  test("J-13: an empty text, false, 0 and an empty object aren't cleaned away", async () => {
    const metadata = { a: "", b: 0, c: false, d: {}, e: [] };
    const parts: JsonObject[] = [{ text: "" }, { data: 0 }, { data: false }, { data: "" }, { data: {} }];
    const { message } = await sentBack(wire, "", { metadata, parts });
    expect([message.metadata, message.parts]).toEqual([metadata, parts]);
  });

  test("J-07: bytes come back as the same bytes", async () => {
    const parts: JsonObject[] = [{ text: "mirror" }, { raw: "+/8A/g==", mediaType: "image/gif" }, { raw: "" }];
    expect((await sentBack(wire, "", { parts })).parts).toEqual(parts);
  });

  test("J-10: U+0000 is refused in an id and kept in a text, whatever the store", async () => {
    for (const field of ["messageId", "contextId", "taskId"]) {
      const outcome = await ask(on.url, wire, "SendMessage", saying("Ada", { [field]: "a\0b" }));
      expect([field, verdictOf(outcome), outcome.error?.fields]).toEqual([
        field,
        "INVALID_PARAMS",
        [`message.${field}`],
      ]);
    }
    expect((await sentBack(wire, "", { parts: [{ text: "a\0b" }] })).message.parts).toEqual([{ text: "a\0b" }]);
  });

  test("J-14: empty lists aren't refused where only a message's and an artifact's parts need an element", async () => {
    const none = answerOf(await ask(on.url, wire, "ListTasks", { contextId: "nobody's" }));
    expect(none).toEqual({ pageSize: 50 }); // as protobuf-es writes it
    expect(
      verdictOf(await ask(on.url, wire, "SendMessage", saying("Ada", { extensions: [], referenceTaskIds: [] }))),
    ).toBe("ok");
    const outcome = await ask(on.url, wire, "SendMessage", saying("", { parts: [] }));
    expect([verdictOf(outcome), outcome.error?.fields]).toEqual(["INVALID_PARAMS", ["message.parts"]]);
  });

  test("J-05: an enum value that nobody knows is refused, not taken for unspecified", async () => {
    for (const status of wire === "HTTP+JSON" ? ["TASK_STATE_PAUSED", "99"] : ["TASK_STATE_PAUSED", 99]) {
      if (!JSON_WIRES.includes(wire)) continue;
      const outcome = await ask(on.url, wire, "ListTasks", { status });
      expect([status, verdictOf(outcome), outcome.error?.fields]).toEqual([status, "INVALID_PARAMS", ["status"]]);
    }
    if (JSON_WIRES.includes(wire)) return;
    const status99 = Buffer.from([0x18, 99]); // field 3, varint
    const outcome = await tell(
      on.url,
      wire,
      "ListTasks",
      rpcRequest(wire, "ListTasks", status99, { "a2a-version": "1.0" }),
    );
    expect([verdictOf(outcome), outcome.error?.fields]).toEqual(["INVALID_PARAMS", ["status"]]);
  });
});

describe.each(JSON_WIRES)("over %s", (wire) => {
  test("J-03: null beside a set member of a oneof is refused where it could be meant, and is nothing where it couldn't", async () => {
    const outcome = await ask(on.url, wire, "SendMessage", saying("", { parts: [{ text: "a", data: null }] }));
    expect([verdictOf(outcome), outcome.error?.fields]).toEqual(["INVALID_PARAMS", ["message.parts[0]"]]);
    const { message } = await sentBack(wire, "", { parts: [{ text: "a", url: null, raw: null }], metadata: null });
    expect(message.parts).toEqual([{ text: "a" }]);
  });

  test("J-12: a part with two contents is refused, none of them is picked", async () => {
    const two = [{ text: "a", url: "https://x" }];
    const outcome = await ask(on.url, wire, "SendMessage", saying("", { parts: two }));
    expect([verdictOf(outcome), outcome.error?.fields]).toEqual(["INVALID_PARAMS", ["message.parts[0]"]]);
  });

  test("J-11: fields of a later version are ignored", async () => {
    const { message } = await sentBack(wire, "Ada", { futureField: { deep: [1] } });
    expect(message).not.toHaveProperty("futureField");
    expect(verdictOf(await ask(on.url, wire, "ListTasks", { pageSize: 1, sortOrder: "asc" }))).toBe("ok");
  });

  test("J-06: a time without a zone is refused, one with an offset is that moment, and every time that goes out is UTC in milliseconds", async () => {
    const list = (statusTimestampAfter: string) =>
      ask(on.url, wire, "ListTasks", { statusTimestampAfter, pageSize: 1 });
    for (const wrong of ["2026-01-01T00:00:00", "2026-01-01", "yesterday", "1767225600"]) {
      const outcome = await list(wrong);
      expect([wrong, verdictOf(outcome), outcome.error?.fields]).toEqual([
        wrong,
        "INVALID_PARAMS",
        ["statusTimestampAfter"],
      ]);
    }
    for (const right of ["2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123456789Z"])
      expect([right, verdictOf(await list(right))]).toEqual([right, "ok"]);
    const { body } = await exchange(on.url, wire, requestOf(wire, "SendMessage", saying("Ada")));
    expect(/"timestamp":"([^"]*)"/.exec(body.toString())?.[1]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("J-07: base64 of every kind is read as the same bytes, and what is none is refused", async () => {
    for (const raw of ["+/8A/g==", "+/8A/g", "-_8A_g==", "-_8A_g"])
      expect((await sentBack(wire, "", { parts: [{ text: "mirror" }, { raw }] })).parts[1]).toEqual({
        raw: "+/8A/g==",
      });
    for (const raw of ["+/8A\n/g==", "data:image/gif;base64,AAAA", "a", "AA=", "AAA=A", "ä"]) {
      const outcome = await ask(on.url, wire, "SendMessage", saying("", { parts: [{ raw }] }));
      expect([raw, verdictOf(outcome), outcome.error?.fields]).toEqual([
        raw,
        "INVALID_PARAMS",
        ["message.parts[0].raw"],
      ]);
    }
  });

  test("J-10: half a surrogate pair is refused, so that no other id and no other text is read back", async () => {
    for (const [field, path] of [
      [{ messageId: "\ud800" }, "message.messageId"],
      [{ parts: [{ text: "a\udc00" }] }, "message.parts[0].text"],
      [{ metadata: { "\ud800": 1 } }, "message.metadata"],
    ] as [JsonObject, string][]) {
      const outcome = await ask(on.url, wire, "SendMessage", saying("Ada", field));
      expect(verdictOf(outcome)).toBe("INVALID_PARAMS");
      expect(outcome.error?.fields[0]).toContain(path);
    }
  });
});

describe.each(WIRES.filter((wire) => !JSON_WIRES.includes(wire)))("over %s", (wire) => {
  test("J-10: bytes that are no UTF-8 aren't read as another text", async () => {
    const good = Buffer.from(binaryOf("GetTask", { id: "abcd" }));
    const bad = Buffer.from(good);
    bad.set([0xed, 0xa0, 0x80], good.indexOf("abcd"));
    const outcome = await tell(on.url, wire, "GetTask", rpcRequest(wire, "GetTask", bad, { "a2a-version": "1.0" }));
    expect(verdictOf(outcome)).toBe("INVALID_PARAMS");
  });
});

describe("a client of a server that writes it differently", () => {
  const card = (url: string) => ({
    name: "Other",
    description: "",
    version: "1",
    supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
    capabilities: { streaming: null, pushNotifications: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: null,
    securityRequirements: [{ schemes: { key: {} } }],
  });

  async function receiving(answer: JsonValue) {
    const server = await startRawServer(() => http(200, "application/a2a+json", JSON.stringify(answer)));
    const peer = await connect(card(server.url) as never);
    return { peer, close: () => server.close() };
  }

  const task = {
    id: "t",
    contextId: "c",
    status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-01-01T00:00:00Z" },
  };

  test("J-03: isn't put off by a null beside each set member", async () => {
    const { peer, close } = await receiving({ task: { ...task, artifacts: null, history: null }, message: null });
    expect((await peer.send("x")).task?.id).toBe("t");
    await close();
  });

  test.each(["TASK_STATE_PAUSED", 99])("J-05: goes on with the state %j, which is no end", async (state) => {
    const { peer, close } = await receiving({ ...task, status: { state } });
    const got = await peer.get("t");
    expect([TaskState.UNSPECIFIED, 99]).toContain(got.status?.state);
    await close();
  });

  test("J-11: reads past members that it doesn't know", async () => {
    const { peer, close } = await receiving({ ...task, createdAt: "2026-01-01", kind: "task" });
    expect((await peer.get("t")).status?.state).toBe(TaskState.COMPLETED);
    await close();
  });

  test("J-15: reads a security requirement without scopes, and a card whose lists are null", async () => {
    const { peer, close } = await receiving(task);
    expect(peer.card.securityRequirements[0]?.schemes.key?.list).toEqual([]);
    expect(peer.card.skills).toEqual([]);
    await close();
  });
});
