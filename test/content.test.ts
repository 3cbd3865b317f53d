import { create, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { decodeJson, encodeJson } from "../src/a2a/codec.js";
import { type Content, contentOf, judge, messageView, partsOf } from "../src/a2a/content.js";
import {
  ArtifactSchema,
  ListTasksResponseSchema,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  TaskSchema,
} from "../src/a2a/types.js";

const json = (content: Content) => partsOf(content).map((part) => encodeJson(PartSchema, part));
const part = (members: JsonValue) => decodeJson(PartSchema, members);
const message = (...parts: Part[]) => create(MessageSchema, { messageId: "m", role: Role.USER, parts });

describe("what people write", () => {
  it.each<[string, Content, JsonValue[]]>([
    ["a string", "hi", [{ text: "hi" }]],
    ["an empty string", "", [{ text: "" }]],
    ["a text part", { text: "hi", metadata: { a: null } }, [{ text: "hi", metadata: { a: null } }]],
    ["data", { data: { a: [1, null, { b: "c" }] } }, [{ data: { a: [1, null, { b: "c" }] } }]],
    ["null data", { data: null }, [{ data: null }]],
    ["false data", { data: false }, [{ data: false }]],
    [
      "a url",
      { url: "https://x/y", filename: "y.PDF" },
      [{ url: "https://x/y", filename: "y.PDF", mediaType: "application/pdf" }],
    ],
    ["a url that says nothing", { url: "https://x/y" }, [{ url: "https://x/y" }]],
    [
      "bytes",
      { raw: new Uint8Array([1, 2]), filename: "a.png" },
      [{ raw: "AQI=", filename: "a.png", mediaType: "image/png" }],
    ],
    ["base64", { raw: "AQI" }, [{ raw: "AQI=", mediaType: "application/octet-stream" }]],
    [
      "a media type of one's own",
      { raw: "", filename: "a.png", mediaType: "x/y" },
      [{ raw: "", filename: "a.png", mediaType: "x/y" }],
    ],
    ["several", ["a", { data: 1 }, part({ text: "b" })], [{ text: "a" }, { data: 1 }, { text: "b" }]],
    ["an empty list", [], []],
    ["a generated part", part({ text: "a", filename: "f" }), [{ text: "a", filename: "f" }]],
    ["a message, of which the parts are taken", message(part({ text: "a" })), [{ text: "a" }]],
    [
      "a view",
      messageView(message(part({ text: "a" }), part({ data: 1 })), { id: "ada" }),
      [{ text: "a" }, { data: 1 }],
    ],
    ["anything with parts", { parts: [{ text: "a" }] }, [{ text: "a" }]],
  ])("%s", (_name, content, expected) => {
    expect(json(content)).toEqual(expected);
  });

  class Money {
    constructor(readonly amount: number) {}
  }
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  let deep: unknown = 1;
  for (let level = 0; level < 40; level++) deep = [deep];

  it.each<[string, unknown, string]>([
    ["a Date", { at: new Date(0) }, "content.data.at is a Date"],
    ["a Map", [new Map()], "content.data[0] is a Map"],
    ["an instance", { price: new Money(1) }, "content.data.price is a Money"],
    ["undefined in a list", [1, undefined], "content.data[1] is undefined"],
    ["a hole", Array(2), "content.data[0] is undefined"],
    ["a nested undefined", { a: { b: undefined } }, "content.data.a.b is undefined"],
    ["NaN", { "a b": Number.NaN }, 'content.data["a b"] is NaN'],
    ["a BigInt", 1n, "content.data is a bigint"],
    ["a function", { f: () => 1 }, "content.data.f is a function"],
    ["a toJSON", { a: { toJSON: () => 1 } }, "content.data.a is an object with toJSON"],
    ["a cycle", cycle, "content.data.self is a cycle"],
    ["an abyss", deep, "more than 36 levels of nesting"],
    ["half a character", { a: "\ud83d" }, "content.data.a is a string with half of a surrogate pair"],
  ])("%s is refused with its path, for JSON can't carry it back", (_name, data, expected) => {
    expect(() => partsOf({ data })).toThrow(TypeError);
    expect(() => partsOf({ data })).toThrow(expected);
  });

  it("the same object twice isn't a cycle, and keys like __proto__ are data", () => {
    const shared = { a: 1 };
    expect(json({ data: [shared, shared] })).toEqual([{ data: [shared, shared] }]);
    const odd = JSON.parse('{"__proto__":{"x":1}}');
    expect(JSON.stringify(json({ data: odd }))).toBe('[{"data":{"__proto__":{"x":1}}}]');
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "content must be a string or a part"],
    ["a number", 5, "content must be a string or a part"],
    ["a part of no kind", ["a", {}], "content[1] must have exactly one of text, data, url, raw, not none"],
    ["a part of two kinds", { text: "a", url: "b" }, "not text and url"],
    ["a text that is none", { text: 5 }, "content.text must be a string"],
    ["text cut within a character", ["ok", "\ud83d"], "content[1] holds half of a surrogate pair"],
    ["bytes that are none", { raw: "data:,x" }, "content.raw must be bytes or base64"],
    ["metadata that isn't JSON", { text: "a", metadata: { at: new Date(0) } }, "content.metadata.at is a Date"],
    ["another message", create(TaskSchema), "not a part"],
  ])("%s is refused", (_name, content, expected) => {
    expect(() => partsOf(content as Content)).toThrow(expected);
  });

  it("the deepest data that is taken can be read by whoever lists the tasks it went into", () => {
    let data: unknown = 1;
    for (let level = 0; level < 36; level++) data = [data];
    const parts = partsOf({ data });
    const tasks = [create(TaskSchema, { id: "t", artifacts: [create(ArtifactSchema, { artifactId: "a", parts })] })];
    const answer = encodeJson(ListTasksResponseSchema, create(ListTasksResponseSchema, { tasks }));
    expect(decodeJson(ListTasksResponseSchema, answer, { from: "peer" }).tasks).toHaveLength(1);
  });
});

describe("what people read", () => {
  const file = part({ url: "https://x" });

  it("a message's texts have a line break between them, its first data is plain JSON, its files are together", () => {
    const view = contentOf(
      message(part({ text: "a" }), part({ data: { x: [null] } }), file, part({ text: "b" }), part({ data: 2 })),
    );
    expect(view).toMatchObject({ text: "a\nb", data: { x: [null] }, files: [file] });
    expect(view.parts).toHaveLength(5);
  });

  it("an artifact's texts are pieces of one, and a task's artifacts follow each other", () => {
    const artifact = create(ArtifactSchema, { artifactId: "a", parts: [part({ text: "Hel" }), part({ text: "lo" })] });
    expect(contentOf(artifact).text).toBe("Hello");
    expect(contentOf(create(TaskSchema, { id: "t", artifacts: [artifact, artifact] })).text).toBe("HelloHello");
  });

  it("nothing is an empty text, no data and no files", () => {
    expect(contentOf([])).toEqual({ parts: [], text: "", data: undefined, files: [] });
    expect(contentOf([part({ data: null })]).data).toBeNull();
    expect(contentOf([create(PartSchema)]).files).toEqual([]);
  });

  it("a message says who wrote it", () => {
    const ada = { id: "ada" };
    expect(messageView(message(part({ text: "a" })), ada)).toMatchObject({ role: "user", from: ada, text: "a" });
    expect(messageView(create(MessageSchema, { role: Role.AGENT }), ada).role).toBe("agent");
  });
});

describe("data by schema", () => {
  const schema = z.object({ amount: z.coerce.number(), tags: z.array(z.string()).default([]) });

  it("is what the schema makes of it", async () => {
    expect(await judge(schema, contentOf([part({ text: "x" }), part({ data: { amount: "2" } })]))).toEqual({
      value: { amount: 2, tags: [] },
    });
    expect(await judge(z.coerce.number(), contentOf([part({ text: "2" })]))).toEqual({ value: 2 });
  });

  it("or every issue, with its path in the message", async () => {
    const judged = await judge(
      schema,
      contentOf([part({ text: "x" }), part({ data: { amount: "many", tags: ["a", 5] } })]),
    );
    expect(judged.issues?.map(({ path, rule }) => `${path} ${rule}`)).toEqual([
      "message.parts[1].data.amount SCHEMA",
      "message.parts[1].data.tags[1] SCHEMA",
    ]);
  });
});
