import { endedBadly } from "../a2a/task-state.js";
import { type Artifact, TaskState } from "../a2a/types.js";
import type { Journal, Lease, NewEvent } from "../journal/journal.js";
import type { Bag } from "../runtime/bag.js";
import type { Logger } from "../runtime/logger.js";
import type { Runtime } from "../runtime/runtime.js";
import type { DefinedAgent, DefinedSkill, Run } from "./agent.js";
import { AgentFault } from "./agent-fault.js";
import { type ArtifactLedger, createArtifactLedger } from "./artifacts.js";
import { Recorder } from "./recorder.js";
import { RunContext } from "./run-context.js";
import { assertOutput, inputData } from "./skill-data.js";
import { RunStopped, Stop } from "./stop.js";
import type { Ending, TaskContext, Update } from "./task-context.js";
import { loadTurn, type Turn } from "./turn.js";
import { createUpdates, describe, saidBy } from "./updates.js";
import { type RunEnd, statusEvent, type Verdict, verdictOf } from "./verdict.js";

/** A turn to run, and what it needs. */
export interface RunOptions {
  readonly journal: Journal;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly lease: Lease;
  readonly agent: DefinedAgent;
  /** Those that are told when the server shuts down: each run adds its own. */
  readonly stops: Bag<Stop>;
  /** How long a run that was told to stop may take to end, in milliseconds. */
  readonly graceMs: number;
}

/**
 * One turn of a task: calls `run` for its message, records what it says and how it ends, and gives the lease up. Never rejects.
 * @returns whether the lease was given up, or taken away; else it is still held, and somebody must end the task.
 */
export async function runTask(options: RunOptions): Promise<boolean> {
  const { journal, runtime, logger, lease, agent } = options;
  try {
    runtime.at("turn.start");
    const turn = await loadTurn(journal, lease, agent.name);
    await takeTurn(options, turn);
    return true;
  } catch (err) {
    logger.error(
      { err, taskId: lease.taskId },
      "A turn could not be recorded; its task ends FAILED as soon as that can be",
    );
    return false;
  }
}

async function takeTurn(options: RunOptions, turn: Turn): Promise<void> {
  const { journal, runtime, logger, lease, agent } = options;
  const stop = new Stop(options, turn.inputPosition, agent.definition.inactivityMs);
  const recorder = new Recorder({
    journal,
    lease,
    runtime,
    logger,
    onLost: (why) => stop.now(new RunStopped("lost", `The task was taken from this run: ${why}`)),
    onFailed: () => stop.now(new RunStopped("lost", "What this run said could not be recorded")),
  });
  try {
    const end = await drive(options, turn, recorder, stop);
    recorder.assertSound();
    if (stop.lost) return;
    await conclude(options, recorder, turn, verdictOf(end, { stopped: stop.reason, head: turn.head, runtime, logger }));
  } finally {
    stop.close();
  }
}

/** Calls `run` and takes from it until it ends, or until it was told to stop and didn't in time. */
async function drive(options: RunOptions, turn: Turn, recorder: Recorder, stop: Stop): Promise<RunEnd> {
  const { journal, runtime, logger, agent } = options;
  const made = new Set<Update | Ending>();
  const ledger = createArtifactLedger(turn.artifacts);
  const skill = agent.skills.find(({ id }) => id === turn.head.skill);
  let generator: Run | undefined;
  try {
    const context = new RunContext({
      journal,
      runtime,
      logger,
      turn,
      data: await dataOf(turn, skill),
      updates: createUpdates((one) => made.add(one)),
      stop,
    });
    generator = begin(agent, skill, context);
    let told = false;
    for (;;) {
      const throwing: boolean = stop.reason !== undefined && !told;
      told ||= throwing;
      const result = await stop.unlessAbandoned(throwing ? generator.throw(stop.reason) : generator.next());
      if (result === "abandoned") return { kind: "abandoned" };
      if (result.done) {
        assertSaid(made, result.value, stop);
        return { kind: "returned", value: result.value };
      }
      made.delete(result.value);
      if (stop.reason !== undefined && !told) continue; // this yield rejects
      stop.heard();
      const event = eventOf(runtime, turn, ledger, result.value);
      if (skill?.output !== undefined) await assertEvent(skill, event);
      const caughtUp = recorder.record(event);
      if (caughtUp !== undefined) await caughtUp;
    }
  } catch (value) {
    if (generator !== undefined) leave(generator);
    return { kind: "threw", value };
  }
}

/** The input's data, as the skill's schema makes it. Later messages are as they came. */
function dataOf(turn: Turn, skill: DefinedSkill | undefined): unknown {
  const { input, inputPosition } = turn;
  return inputPosition === 1 && skill?.input !== undefined ? inputData(skill.input, input) : input.data;
}

/** Calls `run`: the skill's, else the agent's. @throws AgentFault. */
function begin({ name, definition }: DefinedAgent, skill: DefinedSkill | undefined, context: TaskContext): Run {
  if (skill?.run !== undefined) return asGenerator(skill.run(context));
  if (definition.run !== undefined) return asGenerator(definition.run(context));
  throw new AgentFault(`${name} has no run for this task`);
}

/** What JavaScript, or a cast, may have put in its place can't be driven. @throws AgentFault. */
function asGenerator(made: unknown): Run {
  const isOne =
    typeof made === "object" &&
    made !== null &&
    Symbol.asyncIterator in made &&
    ["next", "throw", "return"].every((name) => typeof (made as Record<string, unknown>)[name] === "function");
  if (isOne) return made as Run;
  Promise.resolve(made).catch(() => {}); // of an async function: how it ends says no more than this
  throw new AgentFault("run isn't an async generator: write async *run(task) { … }");
}

/** Lets its `finally` run; how the turn ends was decided. */
function leave(generator: Run): void {
  const tell = async () => generator.return(undefined);
  tell().catch(() => {});
}

/** @throws AgentFault when something was made and never said. */
function assertSaid(made: Set<Update | Ending>, returned: unknown, stop: Stop): void {
  made.delete(returned as Ending);
  const [forgotten] = made;
  const said = saidBy(forgotten);
  if (said === undefined || stop.reason !== undefined) return;
  throw new AgentFault(`Something was made and never yielded or returned: ${describe(said)}`);
}

/** @throws AgentFault for what isn't an update. */
function eventOf(runtime: Runtime, turn: Turn, ledger: ArtifactLedger, update: Update): NewEvent {
  const said = saidBy(update);
  if (said === undefined)
    throw new AgentFault("run yielded something that isn't an update: yield task.working(…) or task.artifact(…)");
  if (said.kind === "artifact") {
    const { append = false, lastChunk = false } = said.facts;
    return { kind: { case: "artifactUpdated", value: { artifact: ledger.write(said), append, lastChunk } } };
  }
  if (said.kind === "keep-open" || said.state !== TaskState.WORKING)
    throw new AgentFault(`An ending was yielded: return it instead (${describe(said)})`);
  return statusEvent(runtime, turn.head, said);
}

/** @throws AgentFault for an artifact whose data isn't what the skill gives. */
async function assertEvent(skill: DefinedSkill, { kind }: NewEvent): Promise<void> {
  const parts = kind?.case === "artifactUpdated" ? (kind.value.artifact as Artifact).parts : []; // as the ledger wrote it
  await assertOutput(skill, parts);
}

/**
 * Appends how the turn ended. COMPLETED and questions count only if every message was seen; else what was said is a status, and the
 * next turn begins.
 */
async function conclude(
  { runtime, logger }: RunOptions,
  recorder: Recorder,
  turn: Turn,
  verdict: Verdict,
): Promise<void> {
  const { head, inputPosition } = turn;
  const final = verdict.kind === "status" && endedBadly(verdict.state);
  const silent = verdict.kind === "keep-open" && verdict.parts.length === 0;
  const events = silent ? [] : [statusEvent(runtime, head, verdict)];
  const result = await recorder.end(events, { release: true, due: null, ...(final ? {} : { seen: inputPosition }) });
  if (result.kind !== "conflict") {
    if (result.kind !== "ok")
      logger.info({ taskId: head.taskId, result: result.kind }, "A turn ended after its task had been taken from it");
    return;
  }
  const said = verdict.parts.length === 0 ? [] : [statusEvent(runtime, head, verdict, TaskState.WORKING)];
  await recorder.end(said, { release: true, due: runtime.now() });
}
