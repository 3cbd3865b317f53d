import type { Handler } from "nuncio";
import { gate } from "../support/scripted-agent.js";
import { createRandom, type Random } from "./random.js";
import { inTime } from "./seen.js";
import type { Caller, Step } from "./step.js";
import { cancel, extendedCard, get, list, resume, subscribe } from "./walk-reads.js";
import { askForAnothers, askForPush, askForWhatIsWrong } from "./walk-refusals.js";
import { begin, followUp, openGate, repeat } from "./walk-sends.js";

/** Where a walk goes: a Handler for any user. */
export interface Ground {
  as(user: string): Handler;
}

/**
 * Every sort of step, and how often it is taken against the others. All 11 operations are among them. Of the states two are missing: no
 * agent gets to AUTH_REQUIRED yet, and SUBMITTED is a task that waits for `limits.runningTasks`, which no walk comes near.
 */
export const steps: readonly (readonly [weight: number, name: string, step: Step])[] = [
  [8, "begin", begin],
  [6, "follow up", followUp],
  [4, "repeat", repeat],
  [4, "open a gate", openGate],
  [5, "get", get],
  [4, "list", list],
  [2, "cancel", cancel],
  [3, "subscribe", subscribe],
  [2, "resume", resume],
  [2, "ask for another's", askForAnothers],
  [3, "ask for what is wrong", askForWhatIsWrong],
  [3, "ask for push", askForPush],
  [1, "extended card", extendedCard],
];

/** Steps with one pair of callers; then others come, for whom everything is empty again. */
const EPISODE = 60;

/**
 * Walks over the operations as callers do, two of them at a time, and holds each answer to the model.
 * @returns how often each sort of step was taken.
 * @throws Error with the seed of the episode, its last steps, and the difference.
 */
export async function walk(ground: Ground, length: number, seed: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let done = 0; done < length; done += EPISODE)
    await walkEpisode(ground, Math.min(EPISODE, length - done), seed + done / EPISODE, counts);
  return counts;
}

async function walkEpisode(
  ground: Ground,
  length: number,
  seed: number,
  counts: Record<string, number>,
): Promise<void> {
  const random = createRandom(seed);
  const ann = callerNamed(`ann-${seed}`, ground);
  const bob = callerNamed(`bob-${seed}`, ground);
  const log: string[] = [];
  try {
    for (let taken = 0; taken < length; taken++) {
      const name = await inTime(takeStep(random.chance(0.75) ? [ann, bob] : [bob, ann], random, log));
      counts[name] = (counts[name] ?? 0) + 1;
    }
  } catch (cause) {
    const difference = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`With --seed ${seed}, at step ${log.length}:\n  ${log.slice(-25).join("\n  ")}\n${difference}`, {
      cause,
    });
  } finally {
    for (const { waitsFor } of [...ann.tasks, ...bob.tasks])
      if (typeof waitsFor === "object") gate(waitsFor.gate).open();
  }
}

function callerNamed(name: string, ground: Ground): Caller {
  return { name, handler: ground.as(name), tasks: [], sent: [] };
}

let gates = 0;

async function takeStep([caller, other]: readonly [Caller, Caller], random: Random, log: string[]): Promise<string> {
  const [, name, step] = random.weighted(steps);
  const line = log.push(`${caller.name}: ${name}`) - 1;
  await step({
    caller,
    other,
    random,
    gate: () => `gate-${++gates}`,
    note: (...what) => {
      log[line] += ` ${what.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(" ")}`;
    },
  });
  return name;
}
