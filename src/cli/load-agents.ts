import { existsSync, statSync } from "node:fs";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Agent, isAgent } from "../agent/agent.js";
import type { Served } from "../serve-options.js";
import { UsageError } from "./usage.js";

/**
 * The agents that a module exports: its default export is the default one, others are called by the names they are exported under.
 * TypeScript is loaded as it is. @throws UsageError.
 */
export async function loadAgents(file: string): Promise<Served> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`There is no file ${file}`);
  const isModule = statSync(path).isFile() && /^(\.[cm]?[jt]sx?)?$/.test(extname(path));
  if (!isModule)
    throw new UsageError(`${file} can't be loaded: name a module file (.ts, .mts, .js, .mjs) that exports an agent`);
  const exported = await load(path, file);
  const agents = Object.entries(exported).filter((entry): entry is [string, Agent] => isAgent(entry[1]));
  const chosen = exported.default;
  const named = agents.filter(([name]) => name !== "default");
  if (agents.length === 0)
    throw new UsageError(
      `${file} exports no agent: export default agent({ … }), or, if it calls serve itself, run it with node`,
    );
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
    // Both: in a package that isn't "type": "module" a .ts file is CommonJS.
    const [modules, commonJs] = await Promise.all([import("tsx/esm/api"), import("tsx/cjs/api")]);
    commonJs.register();
    modules.register();
  }
  try {
    return exportsOf(await import(pathToFileURL(path).href));
  } catch (error) {
    throw new UsageError(`${file} can't be loaded: ${explained(error)}`);
  }
}

/** What a module exports; what was made CommonJS on the way has all of it in `default`. */
function exportsOf(module: Record<string, unknown>): Record<string, unknown> {
  const inner = module.default;
  return typeof inner === "object" && inner !== null && !isAgent(inner)
    ? { ...module, default: undefined, ...inner }
    : module;
}

/** One line; a compiler's says where. */
function explained(error: unknown): string {
  const [first = "", second = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  const said = first.endsWith(":") ? `${first} ${second}` : first;
  return said.includes('"cjs" output format') ? `${said}; say "type": "module" in package.json, or name it .mts` : said;
}
