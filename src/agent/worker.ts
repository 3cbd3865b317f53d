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
  const worker = new LeaseWorker(options);
  worker.start();
  return worker;
}

class LeaseWorker implements Worker {
  readonly #options: WorkerOptions;
  readonly #maxRuns: number;
  readonly #graceMs: number;
  /** One that is served alone may have been called otherwise when a task began: it takes every name. */
  readonly #names: readonly string[] | undefined;
  readonly #stops = new Bag<Stop>();
  readonly #unended = new Set<Lease>();
  /** Takes no more work. */
  #draining = false;
  /** Begins no run any more. */
  #drained = false;
  #running = 0;
  #claiming = 0;
  #poll: Timer | undefined;

  constructor(options: WorkerOptions) {
    const { agents, maxRuns = 1_000, graceMs = 5_000 } = options;
    this.#options = options;
    this.#maxRuns = maxRuns;
    this.#graceMs = graceMs;
    this.#names = agents.size === 1 ? undefined : [...agents.keys()];
  }

  start(): void {
    const { leases } = this.#options.journal;
    leases.hasRoom = () => !this.#draining && this.#room > 0;
    leases.onTaken = (lease) => this.#begin(lease);
    leases.onDue = this.#look;
    this.#tick();
  }

  async drain(deadlineMs: number): Promise<void> {
    const { runtime } = this.#options;
    this.#draining = true;
    this.#poll?.cancel();
    const stopAll = (): void => {
      this.#stops.each((stop) => stop.shutDown());
      deadline = runtime.after(DRAIN_LOOK_MS, stopAll, keepAlive); // what is being taken begins only later
    };
    let deadline = runtime.after(deadlineMs, stopAll, keepAlive); // a run may wait for nothing that does
    // What a journal that fails doesn't take until then is an orphan's at the next start.
    await inTime(runtime, deadlineMs + 1.5 * this.#graceMs, this.#ended());
    this.#drained = true;
    deadline.cancel();
  }

  get #busy(): number {
    return this.#running + this.#options.journal.leases.taking + this.#claiming;
  }

  get #room(): number {
    return this.#maxRuns - this.#busy;
  }

  async #ended(): Promise<void> {
    while (!this.#drained && this.#busy > 0) await pause(this.#options.runtime, DRAIN_LOOK_MS);
  }

  #tick(): void {
    const { runtime, pollMs = 1_000 } = this.#options;
    this.#look();
    this.#poll = runtime.after(pollMs, () => this.#tick());
  }

  readonly #look = oneAtATime(
    async () => {
      if (this.#draining) return;
      await endOrphans(this.#options);
      await endUnended(this.#options, this.#unended);
      await this.#claim();
    },
    (err) => this.#options.logger.error({ err }, "Looking for work failed; it is tried again"),
  );

  async #claim(): Promise<void> {
    const { journal, agents } = this.#options;
    while (!this.#draining && this.#room > 0) {
      this.#claiming = Math.min(CLAIM_BATCH, this.#room);
      try {
        const claimed = await journal.leases.claim(this.#claiming, (name) => versionFor(agents, name), this.#names);
        for (const lease of claimed) this.#begin(lease);
        if (claimed.length === 0) return;
      } finally {
        this.#claiming = 0;
      }
    }
  }

  #begin(lease: Lease): void {
    const { journal, runtime, logger, agents } = this.#options;
    const { taskId, head } = lease;
    if (this.#drained) {
      logger.warn({ taskId }, "A task was taken too late to work on it: the server has stopped");
      return;
    }
    const agent = agentFor(agents, head.agent);
    if (agent === undefined) {
      logger.error({ taskId, agent: head.agent }, "A task was taken whose agent isn't served here");
      return;
    }
    this.#running++;
    const run = { journal, runtime, logger, lease, agent, stops: this.#stops, graceMs: this.#graceMs };
    void runTask(run).then((over) => this.#ranOut(lease, over));
  }

  #ranOut(lease: Lease, over: boolean): void {
    const wasFull = this.#running === this.#maxRuns;
    this.#running--;
    if (!over) this.#unended.add(lease);
    if (!over || wasFull) this.#look();
  }
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
