import { describe, expect, test } from "vitest";
import { gate } from "../support/scripted-agent.js";
import { call, createCalls, refused, type Users } from "./handler-calls.js";
import { collect, message, send, stateOf, taskOf, textOf, told } from "./messages.js";

/** Streams and cancels (§3.1.2, §3.1.5, §3.1.6). */
export function streamContract(on: Users): void {
  const { begin, begun, get, cancel, subscribe } = createCalls(on);

  describe("streams", () => {
    test("begin with the Task, give every event in order, and end with the task (§3.1.2)", async () => {
      const events = await collect(on.ann.sendStreamingMessage(send("chunks a|b|c"), call));
      expect(told(events)).toEqual(["task:WORKING", "artifact:a", "artifact:b+", "artifact:c+.", "status:COMPLETED"]);
    });

    test("of a direct reply hold exactly one Message (§3.1.2)", async () => {
      expect(told(await collect(on.ann.sendStreamingMessage(send("direct Hi"), call)))).toEqual(["message:Hi"]);
    });

    test("end at a question, and begin the next turn with the Task again", async () => {
      const events = await collect(on.ann.sendStreamingMessage(send("ask Which?"), call));
      expect(told(events)).toEqual(["task:WORKING", "status:INPUT_REQUIRED Which?"]);
      const { id } = taskOf(events[0] as (typeof events)[number]);
      expect(told(await collect(on.ann.sendStreamingMessage(send(message("complete", { taskId: id })), call)))).toEqual(
        ["task:WORKING", "status:COMPLETED"],
      );
    });

    test("of a task that fails end with its failure", async () => {
      const told_ = told(await collect(on.ann.sendStreamingMessage(send("throw x"), call)));
      expect(told_[0]).toBe("task:WORKING");
      expect(told_.at(-1)).toMatch(/^status:FAILED The agent failed/);
    });

    test("that can't begin are plain errors (§3.3.2)", async () => {
      await refused(
        collect(on.ann.sendStreamingMessage(send(message("x", { taskId: "nope" })), call)),
        "TASK_NOT_FOUND",
      );
      await refused(collect(subscribe("nope")), "TASK_NOT_FOUND");
      const ended = await begin("Ada");
      await refused(collect(subscribe(ended.id)), "UNSUPPORTED_OPERATION");
    });

    test("several subscribers get the same events, and one that leaves disturbs nobody (§3.5.2)", async () => {
      const name = `many-${Math.random()}`;
      const task = await begun(`wait ${name}`);
      const streams = [subscribe(task.id, "2"), subscribe(task.id, "2")].map(collect);
      for await (const _ of subscribe(task.id)) break;
      gate(name).open();
      const [one, other] = await Promise.all(streams);
      expect(told(one ?? [])).toEqual([
        "task:WORKING",
        "status:WORKING waiting",
        `artifact:waited for ${name}`,
        "status:COMPLETED",
      ]);
      expect(told(other ?? [])).toEqual(told(one ?? []));
    });

    test("a subscriber of a parked task stays, and sees what a later message causes (§3.1.6)", async () => {
      const task = await begin("ask");
      const events = subscribe(task.id)[Symbol.asyncIterator]();
      expect(told([(await events.next()).value])).toEqual(["task:INPUT_REQUIRED"]);
      await on.ann.sendMessage(send(message("complete thanks", { taskId: task.id })), call);
      const rest = [];
      for (let step = await events.next(); !step.done; step = await events.next()) rest.push(step.value);
      expect(told(rest)).toEqual(["status:WORKING", "status:COMPLETED thanks"]);
    });

    test("a caller that hangs up doesn't stop the task (§3.5.2)", async () => {
      const name = `hangup-${Math.random()}`;
      let id = "";
      for await (const event of on.ann.sendStreamingMessage(send(`wait ${name}`), call)) {
        id = taskOf(event).id;
        break;
      }
      const gone = new AbortController();
      const blocked = on.ann.sendMessage(send(`wait ${name}`), { signal: gone.signal });
      gone.abort(new Error("gone"));
      await expect(blocked).rejects.toThrow();
      gate(name).open();
      await collect(subscribe(id, "1"));
      expect(stateOf(await get(id))).toBe("COMPLETED");
    });

    test("resume exactly after any position, also when the task has ended", async () => {
      const task = await begin("chunks a|b|c|d");
      const all = await collect(subscribe(task.id, "1"));
      expect(told(all)).toEqual([
        "task:SUBMITTED",
        "status:WORKING",
        "artifact:a",
        "artifact:b+",
        "artifact:c+",
        "artifact:d+.",
        "status:COMPLETED",
      ]);
      for (let position = 1; position <= 6; position++) {
        const resumed = await collect(subscribe(task.id, String(position)));
        expect(told(resumed.slice(1))).toEqual(told(all.slice(position)));
      }
    });
  });

  describe("CancelTask", () => {
    test("ends a running task, and gives it back CANCELED; once more gives it again (§3.1.5, §3.3.1)", async () => {
      const task = await begun("until-canceled");
      expect(stateOf(await cancel(task.id))).toBe("CANCELED");
      expect(stateOf(await cancel(task.id))).toBe("CANCELED");
      expect(stateOf(await get(task.id))).toBe("CANCELED");
    });

    test("ends a parked task at once", async () => {
      const task = await begin("ask");
      expect(stateOf(await cancel(task.id))).toBe("CANCELED");
      await refused(on.ann.sendMessage(send(message("x", { taskId: task.id })), call), "UNSUPPORTED_OPERATION");
    });

    test("ends a task whose agent doesn't listen when the grace time is over, and nothing changes it afterwards", async () => {
      const name = `stubborn-${Math.random()}`;
      const task = await begun(`stubborn ${name}`);
      const canceled = await cancel(task.id);
      expect([stateOf(canceled), textOf(canceled.status?.message)]).toEqual([
        "CANCELED",
        "Canceled; the agent didn't confirm",
      ]);
      gate(name).open();
      expect(stateOf(await get(task.id))).toBe("CANCELED");
    });

    test("refuses a task that has ended otherwise, or isn't there", async () => {
      await refused(cancel((await begin("Ada")).id), "TASK_NOT_CANCELABLE");
      await refused(cancel("nope"), "TASK_NOT_FOUND");
    });
  });
}
