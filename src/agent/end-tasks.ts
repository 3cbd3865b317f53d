import { partsOf } from "../a2a/content.js";
import { TaskState } from "../a2a/types.js";
import { everyOwner, type Head, type Journal, type Lease } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import { readUpTo } from "./turn.js";
import { statusEvent, type Verdict } from "./verdict.js";

const ORPHAN_BATCH = 64;

interface Context {
  readonly journal: Journal;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** What a process was working on when it died can't go on: it ends, CANCELED if that was asked for, FAILED with the reason else. */
export async function endOrphans({ journal, runtime, logger }: Context): Promise<void> {
  const orphans = await journal.leases.orphans(ORPHAN_BATCH);
  if (orphans.length === 0) return;
  runtime.at("take-over");
  for (const head of orphans) {
    const canceled = await isCancelRequested(journal, head);
    const result = await journal.append({
      taskId: head.taskId,
      events: [statusEvent(runtime, head, canceled ? CANCELED : DIED)],
      expect: head.position,
      fence: true,
      due: null,
    });
    logger.warn(
      { taskId: head.taskId, holder: head.holder, result: result.kind },
      "The process that worked on this task is gone; the task has ended",
    );
  }
}

/** Tasks whose turn is over and couldn't be recorded: nobody else would ever end them while this process lives. */
export async function endUnended({ journal, runtime }: Context, unended: Set<Lease>): Promise<void> {
  for (const lease of unended) {
    const { taskId, epoch } = lease;
    const head = await journal.head(taskId, everyOwner);
    const canceled = head !== undefined && (await isCancelRequested(journal, head));
    const events = [statusEvent(runtime, lease.head, canceled ? CANCELED : UNRECORDED)];
    await journal.append({ taskId, epoch, events, due: null });
    unended.delete(lease);
  }
}

async function isCancelRequested(journal: Journal, { taskId, position }: Head): Promise<boolean> {
  for await (const { event } of readUpTo(journal, taskId, position)) {
    if (event.kind.case === "cancelRequested") return true;
  }
  return false;
}

const CANCELED: Verdict = { kind: "status", state: TaskState.CANCELED, parts: [], facts: {} };
const DIED = failed("The server stopped while the agent worked on this task");
const UNRECORDED = failed("What the agent did could not be recorded");

function failed(text: string): Verdict {
  return { kind: "status", state: TaskState.FAILED, parts: partsOf(text), facts: {} };
}
