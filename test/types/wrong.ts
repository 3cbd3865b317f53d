// What must not compile, and where the error lands: on the very expression that is wrong. Checked by `tsc`; never run.
import { type AgentDefinition, agent, serve, skill, type TaskContext, type Update } from "nuncio";
import { CallError, connect, type TaskState } from "nuncio/client";
import { z } from "zod";

agent({
  name: "x",
  description: "x",
  async *run(task) {
    // @ts-expect-error a number isn't content
    yield task.artifact(1);
    // @ts-expect-error two members of the oneof
    yield task.artifact({ text: "a", url: "b" });
    // @ts-expect-error a part that isn't one
    yield task.artifact({ txt: "a" });
    // @ts-expect-error facts go beside the content
    yield task.artifact({ name: "plan", parts: [{ text: "a" }] });
    const files: readonly unknown[] = task.input.files;
    yield task.working(`${task.input.text} ${files.length} ${task.history.length}`, { metadata: { a: 1 } });
    return task.inputRequired("more?");
  },
});

agent({
  name: "x",
  description: "x",
  // @ts-expect-error an ending is returned, not yielded
  async *run(task) {
    yield task.failed("x");
  },
});

agent({
  name: "x",
  description: "x",
  // @ts-expect-error an update is yielded, not returned
  async *run(task) {
    yield task.working();
    return task.working();
  },
});

agent({
  name: "x",
  description: "x",
  skills: [
    {
      id: "plain",
      description: "x",
      async *run(task) {
        yield task.artifact(task.input.text);
      },
    },
    {
      id: "typed",
      description: "x",
      // @ts-expect-error says: wrap this skill in skill({ … })
      input: z.string(),
    },
    // @ts-expect-error no description
    { id: "bare" },
  ],
});

skill({
  id: "f",
  description: "x",
  input: z.object({ city: z.string(), days: z.number().default(3) }),
  output: z.object({ high: z.number() }),
  async *run(task) {
    const days: number = task.input.data.days;
    yield task.artifact({ data: { high: days } });
    yield task.artifact([{ data: { high: days } }, "and words"]);
    // @ts-expect-error not the skill's output
    yield task.artifact({ data: { high: "1" } });
    // @ts-expect-error no such input
    task.input.data.town;
    yield* helper(task);
  },
  // @ts-expect-error not the skill's output
  reply: () => ({ data: { low: 1 } }),
});

// a helper takes any task
async function* helper(task: TaskContext): AsyncGenerator<Update, void, void> {
  yield task.working("…");
}

// data of an interface type is data
interface Plan {
  city: string;
  nights?: number;
}
declare const plan: Plan;
agent({ name: "x", description: "x", reply: () => ({ data: plan }) });

// options accept undefined
const maybe: AgentDefinition = { name: "x", description: "x", version: undefined, skills: undefined, reply: () => "" };
agent(maybe);

// @ts-expect-error not an agent
serve({ name: "x", description: "x" });
serve(agent(maybe), {
  port: undefined,
  // @ts-expect-error no such authenticator
  auth: { a: { type: "jwtt", scheme: {}, authenticate: () => undefined } },
});
// @ts-expect-error no such binding
connect("https://a.example", { bindings: ["soap"] });

const peer = await connect("https://a.example", { bindings: undefined });
const reply = await peer.send([{ text: "a" }, { raw: new Uint8Array(), filename: "a.png" }], { skill: undefined });
// @ts-expect-error may be a Message
reply.task.id;
for await (const event of peer.stream("x")) {
  if (event.payload.case === "statusUpdate") event.payload.value.status?.state satisfies TaskState | undefined;
}
try {
  await peer.get("x");
} catch (error) {
  if (error instanceof CallError) {
    // @ts-expect-error only when it is done
    error.task.id;
    if (error.outcome === "done") error.task.id;
    switch (error.outcome) {
      case "done":
      case "not-sent":
      case "unknown":
        break;
      default:
        error satisfies never;
    }
  }
}
