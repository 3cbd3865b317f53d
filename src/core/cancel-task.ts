import type { Call } from "../a2a/call.js";
import { A2AError } from "../a2a/errors.js";
import { isSettled, isTerminal } from "../a2a/task-state.js";
import { type CancelTaskRequest, Role, type Task, TaskState } from "../a2a/types.js";
import type { AppendRequest, Head, Scope } from "../journal/journal.js";
import type { Timer } from "../runtime/runtime.js";
import type { Core } from "./core.js";
import { DEFAULT_HISTORY, taskNotFound } from "./limits.js";
import { senderOf } from "./ownership.js";
import { viewOf } from "./view.js";
import { untilState } from "./wait.js";

/**
 * CancelTask (§3.1.5): a task that nobody works on is CANCELED at once; one that runs is asked to end, and is CANCELED without its
 * executor when it doesn't within `cancelGraceMs`, whether or not the caller still waits. A CANCELED task is returned as it is.
 */
export async function cancelTask(core: Core, request: CancelTaskRequest, call: Call): Promise<Task> {
  const scope = core.scopeOf(call);
  for (;;) {
    const head = await core.journal.head(request.id, scope);
    if (head === undefined) throw taskNotFound();
    if (isTerminal(head.state)) return outcome(core, head.taskId, scope);
    const result = await core.journal.append(cancellation(head, scope, request, call));
    switch (result.kind) {
      case "ok":
        if (head.holder === undefined || (await isEnded(core, head, result.position, call)))
          return outcome(core, head.taskId, scope);
        continue; // its run asked something at that moment: nobody works on it any more
      case "not-found":
        throw taskNotFound();
      case "terminal":
      case "held":
      case "conflict":
        continue; // it moved between the read and the append
      default:
        throw new Error(`A task could not be canceled: ${result.kind}`);
    }
  }
}

/** Waits for a run that was asked to end, and sees to it; whether the task has ended with it, and doesn't wait for an answer. */
async function isEnded(core: Core, head: Head, position: number, { signal }: Call): Promise<boolean> {
  const grace = forceAfterGrace(core, head);
  const task = await untilState(core.journal, { taskId: head.taskId, position, isOver: isSettled, signal });
  grace.cancel();
  return isTerminal(task.status?.state);
}

function cancellation(head: Head, scope: Scope, request: CancelTaskRequest, call: Call): AppendRequest {
  const asked = {
    kind: {
      case: "cancelRequested" as const,
      value: {
        ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
        from: senderOf(call),
      },
    },
  };
  if (head.holder !== undefined) return { taskId: head.taskId, reader: scope, events: [asked], lease: head.epoch };
  const canceled = { kind: { case: "statusUpdated" as const, value: { state: TaskState.CANCELED } } };
  return { taskId: head.taskId, reader: scope, events: [asked, canceled], idle: true, due: null };
}

/** The task after a cancel: CANCELED, or not any more to be canceled (§3.3.1). */
async function outcome(core: Core, taskId: string, scope: Scope): Promise<Task> {
  const loaded = await core.journal.load(taskId, scope);
  if (loaded === undefined) throw taskNotFound();
  if (loaded.task.status?.state !== TaskState.CANCELED) throw new A2AError("TASK_NOT_CANCELABLE");
  return viewOf(loaded.task, { history: DEFAULT_HISTORY });
}

/** Ends the task without its executor, who is fenced off, when the grace time is over. */
function forceAfterGrace(core: Core, { taskId, contextId }: Head): Timer {
  const message = () => ({
    messageId: core.runtime.id(),
    taskId,
    contextId,
    role: Role.AGENT,
    parts: [{ content: { case: "text" as const, value: "Canceled; the agent didn't confirm" } }],
  });
  return core.runtime.after(core.cancelGraceMs, () => {
    const canceled = {
      kind: { case: "statusUpdated" as const, value: { state: TaskState.CANCELED, message: message() } },
    };
    core.journal.append({ taskId, events: [canceled], fence: true, due: null }).catch((cause: unknown) => {
      if (cause instanceof A2AError && cause.reason === "DRAINING") return; // its run ended with the server
      core.logger.error({ err: cause, taskId }, "A canceled task could not be ended");
    });
  });
}
