import { expect, test } from "vitest";
import { type Outcome, type Prepared, prepareAppend } from "../src/journal/append-group.js";
import { CommitGroups } from "../src/journal/commit-group.js";
import { systemRuntime } from "../src/runtime/runtime.js";
import { received } from "./support/journal-events.js";

const outcome: Outcome = { result: { kind: "not-found" }, entries: [] };

function groupsOf(groupSize: number) {
  const committed: string[][] = [];
  const groups = new CommitGroups({
    ...{ runtime: systemRuntime, groupSize, isBusy: () => false, onCommitted() {} },
    commit: async (group: readonly Prepared[]) => {
      committed.push(group.map(name));
      return group.map(() => outcome);
    },
  });
  const submit = (taskId: string, key?: number) =>
    groups.submit(
      prepareAppend({ taskId, events: [received("x")], ...(key !== undefined && { key: new Uint8Array([key]) }) }),
    );
  return { groups, committed, submit };
}

function name(member: Prepared): string {
  return member.kind === "append" ? `${member.request.taskId}${member.request.key ?? ""}` : `reply${member.key}`;
}

test("a group holds one append of a task and one of a key, and no more than its size", async () => {
  const { groups, committed, submit } = groupsOf(3);
  const all = [submit("a", 1), submit("a", 2), submit("b", 1), submit("c"), submit("d"), submit("a", 3), submit("c")];
  await Promise.all([...all, groups.submit({ kind: "reply", key: new Uint8Array([2]), reply: new Uint8Array() })]);
  expect(committed).toEqual([["a1", "c", "d"], ["b1", "reply2", "c"], ["a2"], ["a3"]]);
});

test("what comes while a group is written goes into the next", async () => {
  const { groups, committed, submit } = groupsOf(9);
  const first = submit("a");
  await new Promise(setImmediate);
  const second = [submit("b"), submit("c")];
  await groups.flush();
  expect(committed).toEqual([["a"], ["b", "c"]]);
  await Promise.all([first, ...second]);
});
