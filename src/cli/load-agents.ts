import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isAgent } from "../agent/agent.js";
import type { Served } from "../serve-options.js";
import { UsageError } from "./usage.js";

/**
 * The agents that a module exports: its default export is the default one, others are called by the names they are exported under.
 * TypeScript is loaded as it is. @throws UsageError.
 */
export async function loadAgents(file: string): Promise<Served> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`There is no file ${file}`);
  const exported = await load(path, file);
  const agents = Object.entries(exported).filter((entry): entry is [string, never] => isAgent(entry[1]));
  const chosen = exported.default;
  const named = agents.filter(([name]) => name !== "default");
  if (agents.length === 0)
    throw new UsageError(`${file} exports no agent: export default agent({ name, description, run })`);
  if (named.length === 0 && isAgent(chosen)) return chosen;
  const main = named.find(([, one]) => one === chosen)?.[0];
  if (isAgent(chosen) && main === undefined)
    return { agents: { default: chosen, ...Object.fromEntries(named) }, default: "default" };
  const [only, ...others] = named;
  if (only !== undefined && others.length === 0) return only[1];
  return { agents: Object.fromEntries(named), default: main };
}

async function load(path: string, file: string): Promise<Record<string, unknown>> {
  if (/\.[cm]?tsx?$/.test(path)) {
    const { register } = await import("tsx/esm/api");
    register();
  }
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw new UsageError(`${file} can't be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}
