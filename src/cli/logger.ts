import type { Logger } from "../runtime/logger.js";

/** A log for a person at a terminal: one line each, with what went wrong beneath. */
export function createTerminalLogger(stderr: NodeJS.WritableStream): Logger {
  const write =
    (level: string) =>
    (details: object, message = ""): void => {
      const { err, ...others } = details as { err?: unknown };
      const facts = Object.entries(others).map(
        ([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
      );
      stderr.write(`${level}: ${message}${facts.join("")}\n${err === undefined ? "" : `${indented(err)}\n`}`);
    };
  return { debug() {}, info() {}, warn: write("warning"), error: write("error") };
}

function indented(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return text.replace(/^/gm, "  ");
}
