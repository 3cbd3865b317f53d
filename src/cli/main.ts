import { CallError } from "../client/outcome.js";
import { card } from "./card.js";
import { send } from "./send.js";
import { serveCommand } from "./serve.js";
import { task } from "./task.js";
import { createOutput, type Output } from "./terminal.js";
import { USAGE, UsageError } from "./usage.js";

const COMMANDS: Readonly<Record<string, (args: readonly string[], output: Output) => Promise<number>>> = {
  serve: serveCommand,
  card,
  send,
  task,
};

/** Runs a command line; gives the exit code (see USAGE). */
async function main(args: readonly string[]): Promise<number> {
  const output = createOutput(process.stdout, process.stderr);
  const [name, ...rest] = args;
  if (name === undefined || name === "help" || args.includes("--help") || args.includes("-h")) {
    output.line(USAGE);
    return name === undefined ? 2 : 0;
  }
  try {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command === undefined) throw new UsageError(`There is no command ${JSON.stringify(name)}; try nuncio help`);
    return await command(rest, output);
  } catch (error) {
    return failed(error);
  }
}

/** One clear line, and what it means for the next step. */
function failed(error: unknown): number {
  const message = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
  process.stderr.write(`nuncio: ${message}\n`);
  if (error instanceof UsageError) return 2;
  if (!(error instanceof CallError)) return 2;
  switch (error.outcome) {
    case "done":
      return 1;
    case "not-sent":
      return 3;
    case "unknown":
      process.stderr.write("It isn't known whether the agent acted; look with: nuncio task list\n");
      return 4;
  }
}

// A reader that goes away (a pipe to head) is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2));
