import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Composed, startComposed } from "./support/composed.js";
import { type Json, jsonWires } from "./support/wires.js";

/** What is odd and yet allowed: the JSON text of a message's members, and what is kept of them. */
interface Odd {
  readonly what: string;
  readonly members: string;
  readonly kept: Json;
}

const hostile =
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x","hasOwnProperty":null}';

const table: readonly Odd[] = [
  {
    what: "keys of Object's prototype in metadata",
    members: `"parts":[{"text":"a"}],"metadata":${hostile}`,
    kept: { metadata: JSON.parse(hostile) },
  },
  {
    what: "keys of Object's prototype in data",
    members: `"parts":[{"data":${hostile}}]`,
    kept: { parts: [{ data: JSON.parse(hostile) }] },
  },
  {
    what: "null within metadata and data",
    members: '"parts":[{"data":null},{"data":[null,{"a":null}]}],"metadata":{"a":null,"b":[null]}',
    kept: { parts: [{ data: null }, { data: [null, { a: null }] }], metadata: { a: null, b: [null] } },
  },
  {
    what: "null for what isn't there",
    members:
      '"parts":[{"text":"a","url":null,"raw":null,"metadata":null,"filename":null}],"taskId":null,"contextId":null,"metadata":null,"extensions":null,"referenceTaskIds":null',
    kept: { parts: [{ text: "a" }] },
  },
  {
    what: "values that count as false",
    members: '"parts":[{"text":""},{"data":0},{"data":false},{"data":""}],"metadata":{"a":"","b":0,"c":false}',
    kept: { parts: [{ text: "" }, { data: 0 }, { data: false }, { data: "" }], metadata: { a: "", b: 0, c: false } },
  },
  {
    what: "members that nobody knows",
    members: '"parts":[{"text":"a","kind":"text","future":{"x":1}}],"kind":"message","createdAt":5',
    kept: { parts: [{ text: "a" }] },
  },
  {
    what: "names as the proto has them",
    members: '"parts":[{"text":"a","media_type":"text/plain"}],"reference_task_ids":[]',
    kept: { parts: [{ text: "a", mediaType: "text/plain" }] },
  },
  {
    what: "a role by its number",
    members: '"role":1,"parts":[{"text":"a"}]',
    kept: { role: "ROLE_USER", parts: [{ text: "a" }] },
  },
  {
    what: "bytes in base64url and unpadded",
    members:
      '"parts":[{"raw":"-_8","mediaType":"image/png"},{"raw":"+/8=","mediaType":"image/png"},{"raw":"","mediaType":"image/png"}]',
    kept: {
      parts: [
        { raw: "+/8=", mediaType: "image/png" },
        { raw: "+/8=", mediaType: "image/png" },
        { raw: "", mediaType: "image/png" },
      ],
    },
  },
  {
    what: "text of every script",
    members: '"parts":[{"text":"日本語 👩‍👧 \\u202e \\u0001 \\uD83D\\uDE00"}]',
    kept: { parts: [{ text: "日本語 👩‍👧 \u202e \u0001 😀" }] },
  },
  {
    what: "an id of every script",
    members: '"contextId":"ключ/🗝 %2F ..","parts":[{"text":"a"}]',
    kept: { contextId: "ключ/🗝 %2F .." },
  },
];

let composed: Composed;
/** What was kept, by task, as it was when it was sent. */
const kept = new Map<string, unknown>();
beforeAll(async () => {
  composed = await startComposed();
});
afterAll(() => composed.close());

async function get(id: string): Promise<Json> {
  const response = await fetch(`${composed.url}/a2a/tasks/${id}`, { headers: { "a2a-version": "1.0" } });
  return (await response.json()) as Json;
}

describe.each(jsonWires)("over $name, a message", ({ send }) => {
  test.each(table)("may have $what", async ({ members, kept: expected }) => {
    const role = members.includes('"role"') ? "" : '"role":"ROLE_USER",';
    const verdict = await send(composed.url, `{"message":{"messageId":"${randomUUID()}",${role}${members}}}`);
    expect(verdict.reason).toBeUndefined();
    const id = String(verdict.task?.id);
    const { history } = (await get(id)) as { history: [Json] };
    for (const [name, value] of Object.entries(expected)) {
      expect(JSON.stringify(history[0][name])).toBe(JSON.stringify(value)); // as text, for toEqual doesn't see __proto__
    }
    kept.set(id, history);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test("may have NUL and half a surrogate pair in its text: kept, or refused, and never an error of ours", async () => {
    for (const text of ["a\\u0000b", "a\\ud800b"]) {
      const message = `{"messageId":"${randomUUID()}","role":"ROLE_USER","parts":[{"text":"${text}"}]}`;
      const { reason, task } = await send(composed.url, `{"message":${message}}`);
      if (reason !== undefined) expect(reason).toBe("INVALID_PARAMS");
      else {
        const { history } = (await get(String(task?.id))) as { history: [{ parts: [{ text: string }] }] };
        expect(history[0].parts[0].text).toBe(JSON.parse(`"${text}"`));
      }
    }
  });
});

test("what was kept is the same after a restart", async () => {
  expect(kept.size).toBe(table.length * jsonWires.length);
  await composed.restart();
  for (const [id, history] of kept) expect(JSON.stringify((await get(id)).history)).toBe(JSON.stringify(history));
  expect(composed.errors).toEqual([]);
});
