// Blocking SendMessage over JSON-RPC, side by side: each server in a process of its own, rounds alternating, no forced gc.
// Usage: npm run bench -- [--rounds 5] [--seconds 4] [--connections 16,64]
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import autocannon from "autocannon";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "4" },
    connections: { type: "string", default: "16,64" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const inFlight = values.connections.split(",").map(Number);

interface Contender {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
}

interface Round {
  readonly perSecond: number;
  /** Of the server, for each request. */
  readonly cpuUs: number;
}

async function start(name: string, file: string): Promise<Contender> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ["--import", "tsx"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  await assertEchoes(name, url);
  return { name, url, child };
}

const body = (id: string) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "SendMessage",
    params: { message: { messageId: id, role: "ROLE_USER", parts: [{ text: "hello" }] } },
  });
const headers = { "content-type": "application/json", "a2a-version": "1.0" };

/** A server that answers with errors would win every race. */
async function assertEchoes(name: string, url: string): Promise<void> {
  const answer = await (await fetch(url, { method: "POST", headers, body: body("first") })).text();
  if (!answer.includes("TASK_STATE_COMPLETED") || !answer.includes("hello"))
    throw new Error(`${name} doesn't echo: ${answer}`);
}

let sent = 0;

async function measure(one: Contender, connections: number, duration: number): Promise<Round> {
  const { name, url } = one;
  const setupRequest = (request: autocannon.Request): autocannon.Request => ({ ...request, body: body(`m-${++sent}`) });
  const before = await usage(one);
  const result = await autocannon({
    url,
    connections,
    duration,
    requests: [{ method: "POST", headers, setupRequest }],
  });
  const { total } = result.requests;
  if (result.non2xx > 0 || result.errors > 0 || total === 0)
    throw new Error(`${name}: ${result.non2xx} refusals, ${result.errors} errors`);
  return { perSecond: total / result.duration, cpuUs: ((await usage(one)).cpuUs - before.cpuUs) / total };
}

async function usage({ child }: Contender): Promise<{ readonly rss: number; readonly cpuUs: number }> {
  child.send("usage");
  const [answer] = (await once(child, "message")) as [{ rss: number; cpuUs: number }];
  return answer;
}

const median = (all: readonly number[]) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

const contenders = [
  await start("nuncio, SQLite, durable", "./servers/nuncio.js"),
  await start("@a2a-js/sdk, in memory", "./servers/a2a-js.js"),
];
/** Rounds of each, alternating, and the ratio of the first to the second in each. */
async function compare(connections: number): Promise<void> {
  const all = contenders.map((): Round[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, one] of contenders.entries()) {
      await measure(one, connections, 2);
      all[index]?.push(await measure(one, connections, seconds));
    }
  }
  console.log(`${connections} connections`);
  for (const [index, one] of contenders.entries()) {
    const perSecond = (all[index] ?? []).map((round) => Math.round(round.perSecond));
    const cpuUs = Math.round(median((all[index] ?? []).map((round) => round.cpuUs)));
    const mb = Math.round((await usage(one)).rss / 1024 / 1024);
    console.log(
      `  ${one.name.padEnd(24)} median ${String(median(perSecond)).padStart(6)}/s  (${perSecond.join(", ")})  ${cpuUs} µs CPU a request  ${mb} MB`,
    );
  }
  const [ours = [], theirs = []] = all;
  const ratios = ours.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? 0));
  console.log(
    `  ratio                    median ${median(ratios).toFixed(2)}  (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})`,
  );
}

try {
  for (const one of contenders) await measure(one, 16, 6);
  for (const connections of inFlight) await compare(connections);
} finally {
  for (const { child } of contenders) child.kill();
}
