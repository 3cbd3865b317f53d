import { createRequire } from "node:module";
import { CallError } from "../client/outcome.js";
import { createOutput, type Output, plain } from "./terminal.js";
import { UnknownOutcome } from "./unknown-outcome.js";
import { HELP, UsageError } from "./usage.js";

const { version } = createRequire(import.meta.url)("nuncio/package.json") as { version: string };

type Command = (args: readonly string[], output: Output) => Promise<number>;

/** Loaded when they are called: a client needs no server. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.js")).serveCommand,
  card: async () => (await import("./card.js")).card,
  send: async () => (await import("./send.js")).send,
  task: async () => (await import("./task.js")).task,
  check: async () => (await import("./check.js")).checkCommand,
  validate: async () => (await import("./validate.js")).validateCommand,
};

/** Runs a command line; gives the exit code (see HELP). */
async function main(args: readonly string[]): Promise<number> {
  const output = createOutput(process.stdout, process.stderr);
  const [name, ...rest] = args;
  if (name === "--version" || name === "-v") {
    output.line(version);
    return 0;
  }
  if (name === undefined || name === "help" || args.includes("--help") || args.includes("-h")) {
    output.line(HELP);
    return name === undefined ? 2 : 0;
  }
  try {
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (load === undefined) throw new UsageError(`There is no command ${JSON.stringify(name)}; try npx nuncio help`);
    const command = await load();
    return await command(rest, output);
  } catch (error) {
    return failed(error);
  }
}

/** One clear line, and what it means for the next step. */
function failed(error: unknown): number {
  const message = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
  process.stderr.write(`nuncio: ${plain(message)}\n`);
  if (error instanceof UnknownOutcome) {
    const look = `npx nuncio task list ${plain(error.target)}`;
    process.stderr.write(`It isn't known whether the agent acted; look with: ${look}\n`);
    return 4;
  }
  if (!(error instanceof CallError)) return 2;
  return error.outcome === "done" ? 1 : 3;
}

// A reader that goes away (a pipe to head) is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2));
// A module that was loaded and refused may have begun something of its own.
if (process.exitCode === 2) process.exit();
