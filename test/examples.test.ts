import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Agent, serve } from "nuncio";
import { CallError, connect, type Peer, TaskState } from "nuncio/client";
import { afterEach, expect, test, vi } from "vitest";
import librarian from "../examples/librarian.js";
import polyglot, { language } from "../examples/polyglot.js";
import slow from "../examples/slow.js";
import trip from "../examples/trip.js";
import { quiet } from "./support/small-agents.js";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function peerOf(agent: Agent): Promise<Peer> {
  const server = await serve(agent, quiet);
  const peer = await connect(server.url);
  open.push(server, peer);
  return peer;
}

test("librarian answers from the project's docs in chunks, and says where it stands", async () => {
  const peer = await peerOf(librarian);
  const chunks: string[] = [];
  let citations: unknown;
  for await (const event of peer.stream("What is a journal?")) {
    if (event.payload.case !== "artifactUpdate") continue;
    const name = event.payload.value.artifact?.name;
    if (name === "citations") citations = event.data;
    else chunks.push(event.text);
  }
  expect(chunks.length).toBeGreaterThan(3);
  expect(chunks.join("").toLowerCase()).toContain("journal");
  expect(citations).toEqual({
    citations: expect.arrayContaining([expect.objectContaining({ file: expect.stringMatching(/\.md$/) })]),
  });
  expect((await peer.send("xyzzy")).text).toBe("Nothing in the library speaks of xyzzy");
  expect((await peer.send("?")).state).toBe(TaskState.INPUT_REQUIRED);
});

test("trip asks twice, and plans", async () => {
  const talk = (await peerOf(trip)).talk();
  expect((await talk.send("A weekend")).text).toBe("Which city?");
  expect((await talk.send("Rome")).text).toBe("How many nights in Rome?");
  expect((await talk.send("2")).data).toMatchObject({ city: "Rome", nights: 2 });
});

test("polyglot speaks the language that its extension carries, and says which one it spoke", async () => {
  const server = await serve(polyglot, quiet);
  const [activating, plain] = [await connect(server.url, { extensions: [language] }), await connect(server.url)];
  open.push(server, activating, plain);
  expect(plain.card.capabilities?.extensions.find(({ uri }) => uri === language.uri)).toMatchObject({
    required: false,
    params: { languages: ["en", "de", "it"] },
  });

  const greeted = await plain.send("Ada", language.write({ language: "de" }));
  expect(greeted.text).toBe("Guten Tag Ada");
  expect(language.read(greeted.task?.artifacts[0] ?? {})).toEqual({ language: "de" });

  expect((await plain.send("Ada", { metadata: { [language.uri]: { language: "de" } } })).text).toBe("Hello Ada");
  expect((await activating.send("Ada")).text).toBe("Hello Ada");
  const refused = await activating.send("Ada", { metadata: { [language.uri]: { language: "tlh" } } }).catch((e) => e);
  expect([refused instanceof CallError, refused.outcome]).toEqual([true, "done"]);

  const answer = async (extensions: string) =>
    (await fetch(`${server.url}/a2a/tasks`, { headers: { "a2a-version": "1.0", "a2a-extensions": extensions } }))
      .headers;
  expect((await answer(`${language.uri}, https://example.com/other`)).get("a2a-extensions")).toBe(language.uri);
  expect((await answer("https://example.com/other")).has("a2a-extensions")).toBe(false);
});

test("slow stops when it is canceled", async () => {
  const peer = await peerOf(slow);
  const { task } = await peer.send("600", { returnImmediately: true });
  expect((await peer.cancel(task?.id ?? "")).status?.state).toBe(TaskState.CANCELED);
});

test("with-llm says what it would ask without a model, and streams what one answers", async () => {
  vi.stubEnv("LLM_URL", undefined);
  vi.resetModules();
  const without = await peerOf((await import("../examples/with-llm.js")).default);
  expect((await without.send("Hi")).text).toContain("Set LLM_URL");

  const asked: string[] = [];
  const model = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push(body);
    for (const word of ["Hello", " there"])
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: word } }] })}\n\n`);
    response.end("data: [DONE]\n\n");
  }).listen(0, "127.0.0.1");
  await once(model, "listening");
  open.push({ [Symbol.asyncDispose]: async () => void model.close() });
  vi.stubEnv("LLM_URL", `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`);
  vi.resetModules();
  const having = await peerOf((await import("../examples/with-llm.js")).default);
  expect((await having.send("Hi")).text).toBe("Hello there");
  expect(JSON.parse(asked[0] ?? "{}").messages).toEqual([{ role: "user", content: "Hi" }]);
});
