import { agent, skill } from "nuncio";
import { z } from "zod";

/** What a test can make an agent wait for: nothing here sleeps. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Gates by name: `wait NAME` in a message waits for one. */
export const gates = new Map<string, Gate>();

export function gate(name: string): Gate {
  const known = gates.get(name) ?? createGate();
  gates.set(name, known);
  return known;
}

/** How often the agent was run for a text. */
export const runs = new Map<string, number>();

const double = skill({
  id: "double",
  description: "Doubles a number",
  input: z.object({ n: z.number() }),
  output: z.object({ n: z.number() }),
  async *run(task) {
    yield task.artifact({ data: { n: task.input.data.n * 2 } });
  },
});

/** An agent that does what it is told: the first word of a message is a command. */
export const scripted = agent({
  name: "Scripted",
  description: "Does what it is told",
  defaultInputModes: ["text/plain", "application/json", "image/*"],
  skills: [double, { id: "plain", description: "The agent itself" }],
  reply: ({ text }) => (text.startsWith("direct ") ? text.slice(7) : undefined),
  async *run(task) {
    const [command = "", ...words] = task.input.text.split(" ");
    const rest = words.join(" ");
    runs.set(task.input.text, (runs.get(task.input.text) ?? 0) + 1);
    switch (command) {
      case "ask":
        return task.inputRequired(rest === "" ? "What?" : rest);
      case "work":
        yield task.working(rest);
        return;
      case "wait":
        yield task.working("waiting");
        await gate(rest).opened;
        yield task.artifact(`waited for ${rest}`);
        return;
      case "until-canceled":
        yield task.working("waiting");
        await new Promise((_, reject) => {
          if (task.signal.aborted) reject(task.signal.reason);
          task.signal.addEventListener("abort", () => reject(task.signal.reason));
        });
        return;
      case "stubborn":
        yield task.working("not listening");
        await gate(rest).opened;
        return;
      case "throw":
        throw new Error(`secret: ${rest}`);
      case "fail":
        return task.failed(rest);
      case "reject":
        return task.rejected(rest);
      case "complete":
        return task.completed(rest);
      case "keep-open":
        return task.keepOpen();
      case "chunks":
        yield* task.stream(rest.split("|"), { name: "chunks" });
        return;
      case "status":
        for (const word of words) yield task.working(word);
        return;
      case "history":
        yield task.artifact({ data: task.history.map(({ role, text }) => `${role}: ${text}`) });
        return;
      case "references":
        yield task.artifact({ data: (await task.references()).map(({ id }) => id) });
        return;
      case "earlier":
        yield task.artifact({ data: (await task.earlier()).map(({ id }) => id) });
        return;
      case "facts": {
        const { principal, extensions, input, skill: named, id, contextId } = task;
        yield task.artifact({
          data: {
            principal: principal.id,
            extensions: [...extensions],
            metadata: input.metadata,
            skill: named ?? null,
            id,
            contextId,
          },
        });
        return;
      }
      case "mirror":
        yield task.artifact(task.input);
        return;
      default:
        yield task.artifact(`Hello ${task.input.text}`);
    }
  },
});
