import { randomUUID } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gate } from "../support/scripted-agent.js";
import { type Composed, startComposed } from "./support/composed.js";
import type { Json } from "./support/wires.js";

let composed: Composed;
beforeAll(async () => {
  composed = await startComposed();
});
afterAll(() => composed.close());

/** A server-sent event, as it stood on the wire. */
interface Frame {
  readonly id: string | undefined;
  readonly data: Json;
}

/** The whole frames of a text; what isn't whole yet is left out. */
function framesIn(text: string): Frame[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .filter((block) => /^data: /m.test(block))
    .map((block) => ({
      id: /^id: (.*)$/m.exec(block)?.[1],
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "") as Json,
    }));
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

interface Dialect {
  readonly name: string;
  stream(text: string): Asked;
  subscribe(id: string): Asked;
  /** The event in a frame. */
  event(data: Json): Json;
}

const message = (text: string) => ({ message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] } });
const rpc = (method: string, params: object): Asked => ({
  method: "POST",
  path: "/a2a",
  body: JSON.stringify({ jsonrpc: "2.0", id: "mine", method, params }),
});

const dialects: readonly Dialect[] = [
  {
    name: "JSON-RPC",
    stream: (text) => rpc("SendStreamingMessage", message(text)),
    subscribe: (id) => rpc("SubscribeToTask", { id }),
    event(data) {
      expect(data).toMatchObject({ jsonrpc: "2.0", id: "mine", result: expect.anything() });
      return data.result as Json;
    },
  },
  {
    name: "HTTP+JSON",
    stream: (text) => ({ method: "POST", path: "/a2a/message:stream", body: JSON.stringify(message(text)) }),
    subscribe: (id) => ({ method: "POST", path: `/a2a/tasks/${id}:subscribe` }),
    event: (data) => data,
  },
  {
    name: "HTTP+JSON by GET",
    stream: (text) => ({ method: "POST", path: "/a2a/message:stream", body: JSON.stringify(message(text)) }),
    subscribe: (id) => ({ method: "GET", path: `/a2a/tasks/${id}:subscribe` }),
    event: (data) => data,
  },
];

function ask({ method, path, body }: Asked, lastEventId?: string): Promise<Response> {
  return fetch(`${composed.url}${path}`, {
    method,
    headers: {
      "a2a-version": "1.0",
      accept: "text/event-stream",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    ...(body !== undefined && { body }),
  });
}

/** Opens a stream on a bare socket, and cuts the connection as soon as `enough` of it has come. */
async function cutAfter(asked: Asked, enough: (frames: Frame[]) => boolean): Promise<Frame[]> {
  const { method, path, body = "" } = asked;
  const socket: Socket = connect(composed.port, "127.0.0.1");
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: h\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    const frames = framesIn(text.replace(/^[\s\S]*?\r\n\r\n/, "").replace(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n/g, ""));
    if (enough(frames)) {
      socket.resetAndDestroy();
      return frames;
    }
  }
  throw new Error(`The server closed first: ${text}`);
}

describe.each(dialects)("an event stream read by hand over $name", (dialect) => {
  const whole = async (asked: Asked, lastEventId?: string): Promise<Frame[]> => {
    const response = await ask(asked, lastEventId);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    return framesIn(await response.text());
  };
  const events = (frames: readonly Frame[]): Json[] => frames.map(({ data }) => dialect.event(data));
  const idOf = (frames: readonly Frame[]): string => {
    const [first] = events(frames);
    return (first as { task: { id: string } }).task.id;
  };

  test("has the headers of one, its events in order with growing ids, and ends by closing", async () => {
    const response = await ask(dialect.stream("chunks a|b|c"));
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("content-encoding")).toBeNull();
    const frames = framesIn(await response.text());
    const ids = frames.map(({ id }) => Number(id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    expect(events(frames)[0]).toHaveProperty("task");
    expect(events(frames).at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  test("that was cut goes on at exactly the next event, though the task has gone on meanwhile", async () => {
    const name = `cut ${dialect.name}`;
    const before = await cutAfter(dialect.stream(`wait ${name}`), (frames) => frames.length >= 1);
    const id = idOf(before);
    gate(name).open();
    await expect.poll(async () => stateOf(id)).toBe("TASK_STATE_COMPLETED");
    const after = await whole(dialect.subscribe(id), before.at(-1)?.id);
    const [snapshot, ...rest] = events(after);
    expect(snapshot).toMatchObject({ task: { id, status: { state: "TASK_STATE_WORKING" } } });
    expect(rest.at(-2)).toMatchObject({ artifactUpdate: { artifact: { parts: [{ text: `waited for ${name}` }] } } });
    expect(rest.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
    const seen = new Set(before.map((frame) => frame.id));
    expect(after.slice(1).filter((frame) => seen.has(frame.id))).toEqual([]);
  });

  test("resumes after each of its events, also when the server has been restarted", async () => {
    const frames = await whole(dialect.stream("chunks a|b|c|d"));
    const id = idOf(frames);
    for (const round of ["before", "after"]) {
      for (const [index, frame] of frames.entries()) {
        const [snapshot, ...rest] = await whole(dialect.subscribe(id), frame.id);
        expect(dialect.event(snapshot?.data ?? {}), round).toMatchObject({ task: { id } });
        expect(rest, `${round} the restart, behind ${frame.id}`).toEqual(frames.slice(index + 1));
      }
      if (round === "before") await composed.restart();
    }
  });

  test("ignores a position that is none: of a task that has ended it is refused, with a plain error", async () => {
    const ended = idOf(await whole(dialect.stream("chunks a|b")));
    for (const position of [
      "x",
      "0",
      "9999",
      "-1",
      "1.5",
      "99999999999999999999",
      "9007199254740993",
      "1e3",
      "__proto__",
      "0x1",
    ]) {
      const response = await ask(dialect.subscribe(ended), position);
      expect(response.headers.get("content-type"), position).toMatch(/json/);
      expect(await response.text(), position).toContain("UNSUPPORTED_OPERATION");
    }
    const name = `ignored ${dialect.name}`;
    const running = idOf(await cutAfter(dialect.stream(`wait ${name}`), (frames) => frames.length >= 1));
    const [first] = await cutAfter(dialect.subscribe(running), (frames) => frames.length >= 1);
    expect(dialect.event(first?.data ?? {})).toMatchObject({ task: { id: running } });
    gate(name).open();
    await expect.poll(async () => stateOf(running)).toBe("TASK_STATE_COMPLETED");
  });

  test("is the same over HTTP/2", async () => {
    const session = connectHttp2(composed.url);
    const { method, path, body } = dialect.stream("chunks a|b|c");
    const stream = session.request({
      ":method": method,
      ":path": path,
      "content-type": "application/json",
      "a2a-version": "1.0",
    });
    stream.end(body);
    let text = "";
    for await (const chunk of stream.setEncoding("utf8")) text += chunk;
    session.destroy();
    const frames = framesIn(text);
    const rest = await whole(dialect.subscribe(idOf(frames)), frames[0]?.id);
    expect(rest.slice(1)).toEqual(frames.slice(1));
  });

  test("that is cut anywhere, fifty times, costs the server nothing", async () => {
    const name = `fifty ${dialect.name}`;
    const id = idOf(await cutAfter(dialect.stream(`wait ${name}`), (frames) => frames.length >= 1));
    await Promise.all(
      Array.from({ length: 50 }, () => cutAfter(dialect.subscribe(id), (frames) => frames.length >= 1)),
    );
    gate(name).open();
    await expect.poll(async () => stateOf(id)).toBe("TASK_STATE_COMPLETED");
    expect(composed.errors).toEqual([]);
  });
});

async function stateOf(id: string): Promise<unknown> {
  const response = await fetch(`${composed.url}/a2a/tasks/${id}`, { headers: { "a2a-version": "1.0" } });
  return ((await response.json()) as { status?: { state?: string } }).status?.state;
}
