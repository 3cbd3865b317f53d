import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type Part, Role, TaskState } from "../a2a/types.js";
import type { Head, NewEvent } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import { AgentFault } from "./agent-fault.js";
import type { RunStopped } from "./stop.js";
import { type Said, saidBy } from "./updates.js";

/** How a call of `run` ended. */
export type RunEnd = { readonly kind: "returned" | "threw"; readonly value: unknown } | { readonly kind: "abandoned" };

type StatusSaid = Extract<Said, { kind: "status" }>;
/** What the end of a turn says of its task. */
export type Verdict = StatusSaid | Extract<Said, { kind: "keep-open" }>;

/**
 * The state that the end of a run stands for: what it returned or threw, CANCELED if it stopped because it was asked to, COMPLETED if
 * it just ended, FAILED for anything else, whose cause goes to the log under an id that the caller reads.
 */
export function verdictOf(
  end: RunEnd,
  context: { stopped: RunStopped | undefined; head: Head; runtime: Runtime; logger: Logger },
): Verdict {
  const { stopped, head, runtime, logger } = context;
  if (end.kind === "abandoned") return stopVerdict(stopped);
  const said = saidBy(end.value);
  if (said !== undefined && said.kind !== "artifact") return said;
  if (stopped !== undefined) return stopVerdict(stopped);
  if (end.kind === "returned" && end.value === undefined) return status(TaskState.COMPLETED);
  const correlationId = runtime.id();
  const err =
    end.kind === "threw"
      ? end.value
      : new AgentFault(
          "run returned something that isn't an ending: return task.completed(…), task.failed(…), or nothing",
        );
  logger.error({ err, taskId: head.taskId, agent: head.agent, skill: head.skill, correlationId }, "A run failed");
  return status(TaskState.FAILED, `The agent failed; its operator finds the cause under ${correlationId}`);
}

function stopVerdict(stopped: RunStopped | undefined): Verdict {
  switch (stopped?.why) {
    case "canceled":
      return status(TaskState.CANCELED);
    case "inactive":
      return status(TaskState.FAILED, "The agent said nothing for too long");
    default:
      return status(TaskState.FAILED, "The server was shut down while the agent worked on this task");
  }
}

function status(state: TaskState, text?: string): StatusSaid {
  const parts = text === undefined ? [] : [textPart(text)];
  return { kind: "status", state, parts, facts: {} };
}

function textPart(text: string): Part {
  return { $typeName: "lf.a2a.v1.Part", content: { case: "text", value: text }, filename: "", mediaType: "" };
}

/** The entry that a status makes; `state` if it isn't the one that was said. */
export function statusEvent(runtime: Runtime, { taskId, contextId }: Head, said: Verdict, state?: TaskState): NewEvent {
  const { parts, facts } = said;
  const message: Message | undefined =
    parts.length === 0
      ? undefined
      : create(MessageSchema, {
          messageId: runtime.id(),
          taskId,
          contextId,
          role: Role.AGENT,
          parts: [...parts],
          ...(facts.metadata === undefined ? {} : { metadata: facts.metadata }),
          extensions: [...(facts.extensions ?? [])],
        });
  const become = state ?? (said.kind === "keep-open" ? TaskState.WORKING : said.state);
  return { kind: { case: "statusUpdated", value: { state: become, ...(message === undefined ? {} : { message }) } } };
}
