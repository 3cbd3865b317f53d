import { type DescField, fromJson, type JsonObject, type JsonValue, type Message } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Call } from "../../src/a2a/call.js";
import type { Handler } from "../../src/a2a/handler.js";
import { DEDUPLICATION_EXTENSION, RESUME_EXTENSION, SKILL_EXTENSION } from "../../src/a2a/our-names.js";
import { A2AService, TaskPushNotificationConfigSchema } from "../../src/a2a/types.js";
import { message, send, taskOf } from "../contract/messages.js";
import { type Composed, startComposed } from "../interop/support/composed.js";
import { jsonWires } from "../interop/support/wires.js";
import { createGenerator } from "./arbitrary.js";
import { brokenJson } from "./broken.js";
import { type EveryWire, everyWire, wires } from "./every-wire.js";
import { isSame, outcomeOf } from "./outcome.js";

const given = {
  seed: Number(process.env.GENERATIVE_SEED ?? 7),
  numRuns: Number(process.env.GENERATIVE_RUNS ?? 30),
};

let served: EveryWire;
beforeAll(async () => {
  served = await everyWire({ several: true });
});
afterAll(() => served?.close());

const OPEN = "(open)";
const DONE = "(done)";
/** What one gets whatever the wire: no request here waits for anything, and ids are short enough for a path. */
const someId = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(OPEN, DONE, "nope", "a b/c?d:e%41", "ä😀", "a:cancel") },
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const TENANTS = ["", "scripted", "other", "nope", "ä b", "__proto__"];
const command = fc.constantFrom(
  "Ada",
  "ask Which?",
  "fail no",
  "reject no",
  "complete yes",
  "chunks a|b",
  "mirror",
  "direct Hi",
  "status a b",
  "throw x",
  "facts",
  "history",
);

function special(field: DescField): Arbitrary<JsonValue | undefined> | undefined {
  switch (field.name) {
    case "tenant": // none that is also the beginning of a path
      return fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.constantFrom(...TENANTS));
    case "role":
      return fc.constantFrom<JsonValue>("ROLE_USER", "ROLE_USER", "ROLE_USER", "ROLE_USER", "ROLE_AGENT", 0, 7);
    case "text":
      return command;
    case "task_push_notification_config": // one is enough to be refused
      return fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, generator(TaskPushNotificationConfigSchema));
    case "accepted_output_modes":
      return fc.constantFrom<JsonValue>([], [], [], ["text/plain"], ["image/png"], ["*/*", ""]);
    case "reference_task_ids":
      return fc.oneof({ weight: 4, arbitrary: fc.constant<JsonValue>([]) }, fc.array(someId, { maxLength: 2 }));
    case "id":
    case "task_id":
    case "context_id":
      return fc.oneof({ weight: 2, arbitrary: someId }, fc.constant(field.parent.name === "Message" ? "" : OPEN));
    case "page_token":
      return fc.option<JsonValue, undefined>(someId, { nil: undefined, freq: 1 });
    case "page_size":
    case "history_length":
      return fc.option(fc.constantFrom(0, 1, 2, 50, 100, 101, -1, 2 ** 31 - 1), { nil: undefined });
    default:
      return undefined;
  }
}

const generator = createGenerator({ valid: false, field: special });

const declared = [SKILL_EXTENSION, DEDUPLICATION_EXTENSION, RESUME_EXTENSION];
const unknown = ["https://a.example/unknown", RESUME_EXTENSION.replace(/v1$/, "v2"), "x"];
/** Not none: the path of an RPC says a version as well, that of the others doesn't. */
const VERSIONS = ["1.0.7", "1.0, 1.0", "1.0,1.0.2", "0.3", "2.0", "1.0, 0.3", "1", "next"];
/** What goes beside a request (§3.2.6): mostly the version that there is, and nothing else. */
const beside: Arbitrary<Call> = fc.record({
  parameters: fc.oneof(
    { weight: 5, arbitrary: fc.constant({}) },
    fc.constantFrom(...VERSIONS).map((version) => ({ "a2a-version": version })),
    fc.constantFrom("a", "a, b").map((value) => ({ "a2a-of-tomorrow": value })),
  ),
  extensions: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    fc.array(fc.constantFrom(...declared, ...unknown), { minLength: 1, maxLength: 4 }),
  ),
  after: fc.option(fc.constantFrom("1", "2", "999", "0", "-1", "x"), { nil: undefined, freq: 2 }),
});

/** The request with the ids of a wire's own tasks. */
function withIds(json: JsonObject, ids: ReadonlyMap<string, string>): JsonObject {
  const replaced = (value: JsonValue): JsonValue =>
    JSON.parse(JSON.stringify(value), (_key, one: unknown) => (typeof one === "string" ? (ids.get(one) ?? one) : one));
  return replaced(json) as JsonObject;
}

/** Two tasks: one that asks, one that has ended. Equal ones on every wire. None where the request names neither. */
async function begin(handler: Handler, run: number, json: JsonObject): Promise<ReadonlyMap<string, string>> {
  if (!/\((open|done)\)/.test(JSON.stringify(json))) return new Map();
  const open = await handler.sendMessage(send(message("ask", { messageId: `ask-${run}` })), {});
  const done = await handler.sendMessage(send(message("Ada", { messageId: `Ada-${run}` })), {});
  return new Map([
    [OPEN, taskOf(open).id],
    [DONE, taskOf(done).id],
  ]);
}

const isUnsendable = (outcome: object) => JSON.stringify(outcome).includes("can't be part of a path");

describe("the five wires give equal answers, and equal errors, for the same request of", () => {
  it.each(A2AService.methods.map(({ name, localName }) => [name, localName as keyof Handler] as const))(
    "%s",
    async (_name, key) => {
      const { input } = A2AService.method[key];
      const users = wires.map((wire) => ({ wire, user: `${wire} ${key}` })); // nobody sees another's tasks
      const handlers = users.map(({ wire, user }) => ({ wire, user, handler: served.over(wire, user) }));
      const counts = { runs: 0, answers: 0, refusals: 0 };
      await fc.assert(
        fc.asyncProperty(generator(input), beside, async (json, call) => {
          const run = counts.runs++;
          const outcomes = await Promise.all(
            handlers.map(async ({ wire, user, handler }) => {
              const request: Message = fromJson(input, withIds(json, await begin(handler, run, json)));
              const events = key === "subscribeToTask" ? 1 : undefined;
              return [wire, await outcomeOf(handler, key, request, { user, events, call })] as const;
            }),
          );
          const [first, ...others] = outcomes.filter(([, outcome]) => !isUnsendable(outcome)); // HTTP has no path for it
          if (first === undefined) return;
          if ("answer" in first[1]) counts.answers += 1;
          else counts.refusals += 1;
          for (const [wire, outcome] of others)
            if (!isSame(first[1], outcome)) expect({ [wire]: outcome }).toEqual({ [wire]: first[1], as: first[0] });
          expect(served.errors).toEqual([]);
        }),
        given,
      );
      // A generator that only ever finds refusals, or none, says little.
      if (!/PushNotification/.test(key)) expect(counts.answers).toBeGreaterThan(0);
      if (key !== "getExtendedAgentCard") expect(counts.refusals).toBeGreaterThan(0);
    },
    60_000,
  );
});

describe("JSON that can't be read is refused alike wherever JSON is sent", () => {
  let composed: Composed;
  beforeAll(async () => {
    composed = await startComposed();
  });
  afterAll(() => composed?.close());

  it("with the path of its fault, and nothing is an error of ours", async () => {
    await fc.assert(
      fc.asyncProperty(brokenJson(A2AService.method.sendMessage.input), async ({ json, path }) => {
        const request = JSON.stringify(json);
        for (const { name, send: sent } of jsonWires) {
          const { reason, fields } = await sent(composed.url, request);
          expect({ name, reason, fields }).toEqual({
            name,
            reason: "INVALID_PARAMS",
            fields: [path.endsWith("…") ? expect.stringContaining(path.slice(0, -1)) : path],
          });
        }
        expect(composed.errors).toEqual([]);
      }),
      given,
    );
  }, 60_000);
});
