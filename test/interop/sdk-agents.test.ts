import { GetTaskRequest, ListTasksRequest, Task } from "@a2a-js/sdk";
import { ClientFactory, type TransportFactory } from "@a2a-js/sdk/client";
import { TaskNotFoundError } from "@a2a-js/sdk/errors";
import { agent, type Server, serve } from "nuncio";
import { type BindingName, connect, type Peer } from "nuncio/client";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { silentLogger } from "../../src/runtime/logger.js";
import { collect, request, transports } from "./support/sdk-client.js";
import { type SdkServer, startSdkServer } from "./support/sdk-server.js";

/** The foreign client of the agent whose card lies there. */
function clientOf(transport: TransportFactory, cardUrl: string) {
  return new ClientFactory({ transports: [transport] }).createFromUrl(cardUrl, "");
}

const saying = (name: string) =>
  agent({
    name,
    description: `Is called ${name}`,
    async *run(task) {
      yield task.artifact(`${name} heard ${task.input.text}`);
    },
  });

describe.each(transports)("several agents on one server, for a client of @a2a-js/sdk over %s", (_name, transport) => {
  let server: Server;
  beforeAll(async () => {
    const agents = { one: saying("one"), two: saying("two") };
    server = await serve({ agents }, { port: 0, journal: "memory:", logger: silentLogger, drainMs: 500 });
  });
  afterAll(() => server.close());

  test("each is found by its own card, is the one who answers, and has its own tasks", async () => {
    const made = new Map<string, string>();
    for (const name of ["one", "two"]) {
      const client = await clientOf(transport, `${server.url}/agents/${name}/.well-known/agent-card.json`);
      const sent = (await client.sendMessage(request("hi"))) as Task;
      expect(Task.toJSON(sent)).toMatchObject({ artifacts: [{ parts: [{ text: `${name} heard hi` }] }] });
      const events = await collect(client.sendMessageStream(request("ho")));
      expect(JSON.stringify(events)).toContain(`${name} heard ho`);
      expect((await client.listTasks(ListTasksRequest.fromJSON({}))).totalSize).toBe(2);
      made.set(name, sent.id);
    }
    const two = await clientOf(transport, `${server.url}/agents/two/.well-known/agent-card.json`);
    await expect(two.getTask(GetTaskRequest.fromJSON({ id: made.get("one") }))).rejects.toBeInstanceOf(
      TaskNotFoundError,
    );
  });
});

/** Foreign client → our server → our client → foreign server. */
describe.each([
  ["JSONRPC", "grpc"],
  ["HTTP+JSON", "jsonrpc"],
  ["GRPC", "http-json"],
] as const)("a proxy of a foreign agent, called over %s, calling over %s", (outer, inner) => {
  let foreign: SdkServer;
  let peer: Peer;
  let proxy: Server;
  const binding: BindingName = inner;
  const transport = transports.find(([name]) => name === outer)?.[1];
  const client = async () => {
    if (transport === undefined) throw new Error(`There is no ${outer}`);
    return clientOf(transport, `${proxy.url}/.well-known/agent-card.json`);
  };
  beforeAll(async () => {
    vi.spyOn(console, "error").mockImplementation(() => {}); // the foreign server tells its refusals to the console
    foreign = await startSdkServer();
    peer = await connect(foreign.url, { bindings: [binding] });
    const front = agent({ name: "Front", description: "Passes on", handler: peer.handler });
    proxy = await serve(front, { port: 0, journal: "memory:", logger: silentLogger, drainMs: 500 });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await proxy.close();
    await peer[Symbol.asyncDispose]();
    await foreign.close();
  });

  test("passes tasks, direct answers, streams and errors through", async () => {
    const front = await client();
    const sent = (await front.sendMessage(request("Ada"))) as Task;
    expect(Task.toJSON(sent)).toMatchObject({ artifacts: [{ parts: [{ text: "Hello Ada" }] }] });
    expect(await front.sendMessage(request("direct hi"))).toMatchObject({ parts: [{ content: { value: "hi" } }] });
    const events = await collect(front.sendMessageStream(request("chunks a|b|c")));
    expect(events.filter((event) => "artifactUpdate" in event)).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
    expect((await front.getTask(GetTaskRequest.fromJSON({ id: sent.id }))).id).toBe(sent.id);
    await expect(front.getTask(GetTaskRequest.fromJSON({ id: "nobody's" }))).rejects.toBeInstanceOf(TaskNotFoundError);
    const unknown = front.sendMessageStream(request("x", { taskId: "nobody's" }));
    await expect(collect(unknown)).rejects.toBeInstanceOf(TaskNotFoundError);
  });

  test("who leaves a stream in front of it leaves the one behind it, and the task goes on", async () => {
    const front = await client();
    const name = `left ${outer}`;
    const stream = front.sendMessageStream(request(`wait ${name}`));
    const first = (await stream.next()).value as { payload?: { value: { id: string } } };
    await stream.return(undefined);
    foreign.gate(name).open();
    const id = first.payload?.value.id ?? "";
    await expect
      .poll(async () => (await peer.get(id)).artifacts[0]?.parts[0]?.content.value)
      .toBe(`waited for ${name}`);
  });
});
