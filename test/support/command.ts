import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../bin/nuncio.js", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line to its end. */
export async function nuncio(...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

export interface Running {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it has printed so far. */
  output(): string;
  /** Ends it, and resolves with its exit code, or the signal. */
  stop(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

/** `nuncio serve …`, once it says where it listens. */
export async function nuncioServe(...args: string[]): Promise<Running> {
  const child = spawn(process.execPath, [BIN, "serve", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const url = new Promise<string>((resolve, reject) => {
    const take = (text: string): void => {
      output += text;
      const at = output.match(/ at (http:\/\/\S+)/)?.[1];
      if (at !== undefined && output.includes("Stop with")) resolve(at);
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    child.once("exit", () => reject(new Error(`It ended before it served:\n${output}`)));
  });
  return {
    url: await url,
    child,
    output: () => output,
    async stop(signal) {
      const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
      child.kill(signal);
      const [code, by] = await ended;
      return by ?? code;
    },
  };
}
