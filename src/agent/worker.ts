import { partsOf } from "../a2a/content.js";
import { TaskState } from "../a2a/types.js";
import { everyOwner, type Head, type Journal, type Lease } from "../journal/journal.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime, Timer } from "../runtime/runtime.js";
import { type DefinedAgent, versionOf } from "./agent.js";
import { runTask } from "./run-task.js";
import { statusEvent, type Verdict } from "./verdict.js";

const CLAIM_BATCH = 16;
const ORPHAN_BATCH = 64;

export interface WorkerOptions {
  readonly journal: Journal;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** By the name that their tasks are stored under. */
  readonly agents: ReadonlyMap<string, DefinedAgent>;
  /** Runs at a time. Default 1 000. */
  readonly maxRuns?: number | undefined;
  /** Between two looks for work that nobody announced, in milliseconds. Default 1 000. */
  readonly pollMs?: number | undefined;
  /** How long a run that was told to stop may take to end. Default 5 000. */
  readonly graceMs?: number | undefined;
}

/** Runs the agents of this instance. */
export interface Worker {
  /**
   * Takes no more work; lets what runs end for so long, then tells it to stop. Resolves when nothing runs any more, or when even the
   * grace time is over by half.
   */
  drain(deadlineMs: number): Promise<void>;
}

/**
 * Runs a turn for every lease that is taken in this instance, claims what is due, and ends the tasks of processes that died.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { journal, runtime, logger, agents } = options;
  const { maxRuns = 1_000, pollMs = 1_000, graceMs = 5_000 } = options;
  const { leases } = journal;
  const running = new Set<Promise<void>>();
  const stops = new Set<() => void>();
  const unended = new Set<Lease>();
  let draining = false;
  let looking = false;
  let again = false;
  let poll: Timer | undefined;

  const run = (lease: Lease, agent: DefinedAgent): void => {
    const done = runTask({ journal, runtime, logger, lease, agent, stops, graceMs }).then((over) => {
      running.delete(done);
      if (!over) unended.add(lease);
      if (!over || running.size === maxRuns - 1) look();
    });
    running.add(done);
  };
  const begin = (lease: Lease): void => {
    const agent = agentFor(agents, lease.head.agent);
    if (agent !== undefined) run(lease, agent);
    else
      logger.error({ taskId: lease.taskId, agent: lease.head.agent }, "A task was taken whose agent isn't served here");
  };
  // One that is served alone may have been called otherwise when the task began.
  const versionFor = (name: string): string => {
    const agent = agentFor(agents, name);
    return agent === undefined ? "" : versionOf(agent);
  };
  const names = agents.size === 1 ? undefined : [...agents.keys()];
  let claiming = 0;
  const room = (): number => maxRuns - running.size - leases.taking - claiming;
  const claim = async (): Promise<void> => {
    while (!draining && room() > 0) {
      runtime.at("claim");
      claiming = Math.min(CLAIM_BATCH, room());
      try {
        const claimed = await leases.claim(claiming, versionFor, names);
        for (const lease of claimed) begin(lease);
        if (claimed.length === 0) return;
      } finally {
        claiming = 0;
      }
    }
  };
  const look = (): void => {
    again = true;
    if (looking || draining) return;
    looking = true;
    (async () => {
      while (again && !draining) {
        again = false;
        await endOrphans(options);
        await endUnended(options, unended);
        await claim();
      }
    })()
      .catch((err: unknown) => logger.error({ err }, "Looking for work failed; it is tried again"))
      .finally(() => {
        looking = false;
      });
  };
  const tick = (): void => {
    look();
    poll = runtime.after(pollMs, tick);
  };

  leases.hasRoom = () => !draining && room() > 0;
  leases.onTaken = begin;
  leases.onDue = look;
  tick();
  return {
    async drain(deadlineMs) {
      draining = true;
      poll?.cancel();
      const stopAll = (): void => {
        for (const stop of stops) stop();
      };
      const deadline = runtime.after(deadlineMs, stopAll, { keepAlive: true }); // a run may wait for nothing that does
      // What a journal that fails doesn't take until then is an orphan's at the next start.
      const late = new Promise<void>((resolve) => runtime.after(deadlineMs + 1.5 * graceMs, resolve));
      const ended = async () => {
        while (running.size > 0) await Promise.all(running);
      };
      await Promise.race([ended(), late]);
      deadline.cancel();
    },
  };
}

function agentFor(agents: ReadonlyMap<string, DefinedAgent>, name: string): DefinedAgent | undefined {
  return agents.size === 1 ? [...agents.values()][0] : agents.get(name);
}

/** What a process was working on when it died can't go on: it ends, CANCELED if that was asked for, FAILED with the reason else. */
async function endOrphans({ journal, runtime, logger }: WorkerOptions): Promise<void> {
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
async function endUnended({ journal, runtime }: WorkerOptions, unended: Set<Lease>): Promise<void> {
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
  for (let after = 0; after < position; ) {
    const page = await journal.read(taskId, after);
    if (page.some(({ event }) => event.kind.case === "cancelRequested")) return true;
    after = page.at(-1)?.position ?? position;
  }
  return false;
}

const CANCELED: Verdict = { kind: "status", state: TaskState.CANCELED, parts: [], facts: {} };
const DIED = failed("The server stopped while the agent worked on this task");
const UNRECORDED = failed("What the agent did could not be recorded");

function failed(text: string): Verdict {
  return { kind: "status", state: TaskState.FAILED, parts: partsOf(text), facts: {} };
}
