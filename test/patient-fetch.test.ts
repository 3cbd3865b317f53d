import { agent, type Server, serve } from "nuncio";
import { connect, type Peer } from "nuncio/client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { patientFetch } from "../src/bindings/patient-fetch.js";
import { quiet } from "./support/small-agents.js";

const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
interface Agent {
  dispatch(options: object, handler: unknown): boolean;
  destroy(): Promise<void>;
}
const global = globalThis as unknown as { [DISPATCHER]: Agent };

let usual: Agent;
let server: Server;
let goOn: () => void;
beforeEach(async () => {
  let opened = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const silent = agent({
    name: "Silent",
    description: "Says nothing for as long as it likes",
    async *run(task) {
      yield task.artifact("first");
      await opened;
      opened = Promise.resolve();
      yield task.artifact("last");
    },
  });
  server = await serve(silent, { ...quiet, heartbeatMs: 1_000_000, drainMs: 500 });
  await fetch("data:,"); // from here on Node has its own
  // What that gives up on after 300 seconds, the one for these tests gives up on after one.
  usual = global[DISPATCHER];
  const NodesAgent = usual.constructor as new (options: object) => Agent;
  global[DISPATCHER] = new NodesAgent({ headersTimeout: 100, bodyTimeout: 100 });
});
afterEach(async () => {
  const hasty = global[DISPATCHER];
  global[DISPATCHER] = usual;
  goOn();
  await server.close();
  await hasty.destroy();
});

async function textOf(peer: Peer): Promise<string> {
  const stream = peer.stream("x");
  for await (const _event of stream);
  return (await stream.reply()).text;
}

describe.each(["jsonrpc", "http-json"] as const)("over %s", (binding) => {
  test("a stream outlives the silence that Node's fetch gives up on", async () => {
    await using impatient = await connect(server.url, { bindings: [binding], fetch: globalThis.fetch });
    await using peer = await connect(server.url, { bindings: [binding] });
    const text = textOf(peer);
    await expect(textOf(impatient)).rejects.toThrow(/terminated|body timeout/i);
    goOn();
    expect(await text).toContain("last");
  });

  test("a send outlives the wait that Node's fetch gives up on", async () => {
    await using impatient = await connect(server.url, { bindings: [binding], fetch: globalThis.fetch });
    await using peer = await connect(server.url, { bindings: [binding] });
    const reply = peer.send("x");
    await expect(impatient.send("x")).rejects.toThrow(/headers timeout/i);
    goOn();
    expect((await reply).text).toContain("last");
  });
});

test("what is set to carry the requests of Node's fetch, such as a proxy, carries these", async () => {
  const seen: unknown[] = [];
  const hasty = global[DISPATCHER];
  global[DISPATCHER] = Object.create(hasty, {
    dispatch: {
      value(options: { path: string }, handler: unknown) {
        seen.push(options.path);
        return hasty.dispatch(options, handler);
      },
    },
  }) as Agent;
  await using peer = await connect(server.url, { bindings: ["jsonrpc"] });
  await expect(peer.get("unknown")).rejects.toThrow("Task not found");
  expect(seen).toEqual(["/.well-known/agent-card.json", "/a2a"]);
});

test("where nothing of the kind is kept, it is the global fetch", async () => {
  const [fetch, hasty] = [globalThis.fetch, global[DISPATCHER]];
  const inits: unknown[] = [];
  global[DISPATCHER] = undefined as unknown as Agent;
  globalThis.fetch = async (_input, init) => {
    inits.push(init);
    return new Response();
  };
  try {
    await patientFetch("http://a.example", { method: "POST" });
    expect(inits).toEqual([{ method: "POST" }]);
  } finally {
    globalThis.fetch = fetch;
    global[DISPATCHER] = hasty;
  }
});
