import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { answerOf, ask, saying, verdictOf } from "../support/asking.js";
import { JSON_WIRES, WIRES } from "../support/exchange.js";
import { gate } from "../support/scripted-agent.js";
import { served } from "../support/served.js";

const on = served();

interface Task {
  id: string;
  status: { state: string; timestamp?: string };
}
interface Page {
  tasks?: Task[];
  nextPageToken?: string;
  pageSize?: number;
  totalSize?: number;
}

describe.each(WIRES)("over %s", (wire) => {
  const list = async (request: JsonObject = {}) => answerOf<Page>(await ask(on.url, wire, "ListTasks", request));
  const send = async (text: string, contextId: string, rest: JsonObject = {}) =>
    answerOf<{ task: Task }>(await ask(on.url, wire, "SendMessage", saying(text, { contextId }, rest))).task;
  const ids = ({ tasks = [] }: Page) => tasks.map(({ id }) => id);
  let contexts = 0;
  const context = () => `${wire}-${++contexts}`;

  test("L-01: a list without filters has every task, not none because 0 is taken for a state", async () => {
    const before = (await list()).totalSize ?? 0;
    const contextId = context();
    for (const text of ["Ada", "ask", "fail x"]) await send(text, contextId);
    const all = await list({ status: "TASK_STATE_UNSPECIFIED" });
    expect([all.totalSize, (await list()).totalSize]).toEqual([before + 3, before + 3]);
    expect((await list({ contextId })).totalSize).toBe(3);
  });

  test("L-03: a page goes on where the last one ended, though its last task isn't there any more", async () => {
    const contextId = context();
    const [third, second, first] = [
      await send("Ada", contextId),
      await send("Ada", contextId),
      await send("Ada", contextId),
    ];
    const page = await list({ contextId, pageSize: 1 });
    expect(ids(page)).toEqual([first.id]);
    // As if the task had been erased: a token of a place where no task is, right behind it (the beginning of an id is before it).
    const [at, id, filters] = JSON.parse(Buffer.from(page.nextPageToken ?? "", "base64url").toString()) as [
      number,
      string,
      string,
    ];
    const nowhere = Buffer.from(JSON.stringify([at, id.slice(0, -1), filters])).toString("base64url");
    expect(ids(await list({ contextId, pageToken: nowhere }))).toEqual([second.id, third.id]);
  });

  test("L-04: a task that moves up while somebody pages is no error and no duplicate on a page", async () => {
    const contextId = context();
    const [oldest, ...others] = [
      await send("ask", contextId),
      await send("Ada", contextId),
      await send("Ada", contextId),
    ];
    const page = await list({ contextId, pageSize: 2 });
    await ask(on.url, wire, "CancelTask", { id: oldest.id });
    const rest = await list({ contextId, pageSize: 2, pageToken: page.nextPageToken ?? "" });
    const seen = [...ids(page), ...ids(rest)];
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(others.map(({ id }) => id)));
    const since = oldest.status.timestamp ?? "";
    expect(ids(await list({ contextId, statusTimestampAfter: since }))[0]).toBe(oldest.id);
  });

  test("L-06: a task of every state has a status time, and the list is in its order", async () => {
    const contextId = context();
    const name = `list-${contextId}`;
    for (const text of ["Ada", "ask", "fail x", "reject x"]) await send(text, contextId);
    await send(`wait ${name}`, contextId, { configuration: { returnImmediately: true } });
    const { tasks = [] } = await list({ contextId });
    gate(name).open();
    const times = tasks.map(({ status }) => Date.parse(status.timestamp ?? "")); // as text, "40Z" comes after "40.1Z"
    expect(times).toHaveLength(5);
    expect(times).not.toContain(Number.NaN);
    expect(times).toEqual([...times].sort((a, b) => b - a));
  });

  test("L-07: a page size, a token or a state that is none is refused with its name, all at once", async () => {
    const wrong: [JsonObject, string[]][] = [
      [{ pageSize: 0 }, ["pageSize"]],
      [{ pageSize: 101 }, ["pageSize"]],
      [{ pageSize: -1 }, ["pageSize"]],
      [{ pageToken: "%%" }, ["pageToken"]],
      [{ pageToken: "WzEsMl0" }, ["pageToken"]],
      [{ pageSize: 150, historyLength: -5, pageToken: "x" }, ["pageSize", "historyLength", "pageToken"]],
      ...(JSON_WIRES.includes(wire)
        ? ([
            [{ status: "working" }, ["status"]],
            [{ status: "TASK_STATE_FOO" }, ["status"]],
            [{ pageSize: "abc" }, ["pageSize"]],
            [{ pageSize: 1.5 }, ["pageSize"]],
          ] as [JsonObject, string[]][])
        : []),
    ];
    for (const [request, fields] of wrong) {
      const outcome = await ask(on.url, wire, "ListTasks", request);
      expect([request, verdictOf(outcome), outcome.error?.fields]).toEqual([request, "INVALID_PARAMS", fields]);
    }
    if (wire === "HTTP+JSON") return; // there an empty id is another path
    const empty = await ask(on.url, wire, "GetTask", { id: "" });
    expect([verdictOf(empty), empty.error?.fields]).toEqual(["INVALID_PARAMS", ["id"]]);
  });

  test("L-07: a token of another list is refused", async () => {
    const contextId = context();
    for (let n = 0; n < 2; n++) await send("Ada", contextId);
    const { nextPageToken = "" } = await list({ contextId, pageSize: 1 });
    expect(nextPageToken).not.toBe("");
    expect(verdictOf(await ask(on.url, wire, "ListTasks", { contextId: "other", pageToken: nextPageToken }))).toBe(
      "INVALID_PARAMS",
    );
  });

  test("L-08: statusTimestampAfter takes the task of exactly that moment, and none of before", async () => {
    const contextId = context();
    const { id, status } = await send("Ada", contextId);
    const at = status.timestamp ?? "";
    expect(ids(await list({ contextId, statusTimestampAfter: at }))).toEqual([id]);
    expect(ids(await list({ contextId, statusTimestampAfter: at.replace("Z", "000001Z") }))).toEqual([]);
    const before = new Date(Date.parse(at) - 1).toISOString().replace("Z", "999999Z");
    expect(ids(await list({ contextId, statusTimestampAfter: before }))).toEqual([id]);
  });
});
