import type { Journal, Lease } from "../journal/journal.js";
import { Bag } from "../runtime/bag.js";
import type { Logger } from "../runtime/logger.js";
import { pause } from "../runtime/pause.js";
import type { Runtime, Timer } from "../runtime/runtime.js";
import { type DefinedAgent, versionOf } from "./agent.js";
import { endOrphans, endUnended } from "./end-tasks.js";
import { runTask } from "./run-task.js";
import type { Stop } from "./stop.js";

const CLAIM_BATCH = 16;
/** While a server shuts down, between two looks at what the journal is still doing, in milliseconds. */
const DRAIN_LOOK_MS = 10;
const keepAlive = { keepAlive: true };

/** What a worker runs, and how much of it. */
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
  /** How long a run that was told to stop may take to end, in milliseconds. Default 5 000. */
  readonly graceMs?: number | undefined;
}

/** Runs the agents of this instance. */
export interface Worker {
  /**
   * Takes no more work; lets what runs, or is being taken, end for so many milliseconds, then tells it to stop. Resolves when nothing
   * runs any more, or when even the grace time is over by half. No run begins after that.
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
  const stops = new Bag<Stop>();
  const unended = new Set<Lease>();
  let draining = false;
  let drained = false;
  let running = 0;
  let claiming = 0;
  let poll: Timer | undefined;

  const room = (): number => maxRuns - running - leases.taking - claiming;
  const begin = (lease: Lease): void => {
    if (drained) {
      logger.warn({ taskId: lease.taskId }, "A task was taken too late to work on it: the server has stopped");
      return;
    }
    const agent = agentFor(agents, lease.head.agent);
    if (agent === undefined) {
      const { taskId, head } = lease;
      logger.error({ taskId, agent: head.agent }, "A task was taken whose agent isn't served here");
      return;
    }
    running++;
    void runTask({ journal, runtime, logger, lease, agent, stops, graceMs }).then((over) => {
      running--;
      if (!over) unended.add(lease);
      if (!over || running === maxRuns - 1) look();
    });
  };
  // One that is served alone may have been called otherwise when the task began.
  const names = agents.size === 1 ? undefined : [...agents.keys()];
  const claim = async (): Promise<void> => {
    while (!draining && room() > 0) {
      claiming = Math.min(CLAIM_BATCH, room());
      try {
        const claimed = await leases.claim(claiming, (name) => versionFor(agents, name), names);
        for (const lease of claimed) begin(lease);
        if (claimed.length === 0) return;
      } finally {
        claiming = 0;
      }
    }
  };
  const look = oneAtATime(
    async () => {
      if (draining) return;
      await endOrphans(options);
      await endUnended(options, unended);
      await claim();
    },
    (err) => logger.error({ err }, "Looking for work failed; it is tried again"),
  );
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
        stops.each((stop) => stop.shutDown());
        deadline = runtime.after(DRAIN_LOOK_MS, stopAll, keepAlive); // what is being taken begins only later
      };
      let deadline = runtime.after(deadlineMs, stopAll, keepAlive); // a run may wait for nothing that does
      const ended = async () => {
        while (!drained && running + leases.taking + claiming > 0) await pause(runtime, DRAIN_LOOK_MS);
      };
      // What a journal that fails doesn't take until then is an orphan's at the next start.
      await inTime(runtime, deadlineMs + 1.5 * graceMs, ended());
      drained = true;
      deadline.cancel();
    },
  };
}

/** Waits for something, but no longer than so many milliseconds. */
async function inTime(runtime: Runtime, ms: number, work: Promise<void>): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<void>((resolve) => {
    timer = runtime.after(ms, resolve);
  });
  await Promise.race([work, late]);
  timer?.cancel();
}

/** Does something when it is asked to, one at a time: asked meanwhile, once more. */
function oneAtATime(act: () => Promise<void>, onError: (error: unknown) => void): () => void {
  let going = false;
  let again = false;
  const go = async (): Promise<void> => {
    try {
      while (again) {
        again = false;
        await act();
      }
    } catch (error) {
      onError(error);
    } finally {
      going = false;
    }
  };
  return () => {
    again = true;
    if (going) return;
    going = true;
    void go();
  };
}

function agentFor(agents: ReadonlyMap<string, DefinedAgent>, name: string): DefinedAgent | undefined {
  return agents.size === 1 ? [...agents.values()][0] : agents.get(name);
}

function versionFor(agents: ReadonlyMap<string, DefinedAgent>, name: string): string {
  const agent = agentFor(agents, name);
  return agent === undefined ? "" : versionOf(agent);
}
