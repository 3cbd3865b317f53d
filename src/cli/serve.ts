import { WELL_KNOWN_CARD } from "../a2a/agent-card.js";
import { serve } from "../serve.js";
import { defaults, type Served, type ServeOptions, type Server } from "../serve-options.js";
import { readArguments, wholeNumber } from "./arguments.js";
import { loadAgents } from "./load-agents.js";
import { createTerminalLogger } from "./logger.js";
import type { Output } from "./terminal.js";
import { UsageError, usage } from "./usage.js";

const OPTIONS = {
  port: { type: "string" },
  host: { type: "string" },
  journal: { type: "string" },
  "public-url": { type: "string" },
  anonymous: { type: "boolean" },
} as const;
/** `nuncio serve FILE`: serves what a module exports, until SIGINT or SIGTERM. */
export async function serveCommand(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, usage.serve, 1);
  const port = wholeNumber("port", values.port, { min: 0, max: 65_535 }) ?? defaults.port;
  const journal = values.journal ?? "sqlite:nuncio.db";
  const served = await loadAgents(positionals[0] ?? "");
  const server = await start(served, {
    port,
    host: values.host,
    journal,
    publicUrl: values["public-url"],
    auth: values.anonymous ? "anonymous" : undefined,
  });
  const stopping = stopped(); // whoever reads that it serves may stop it at once
  introduce(server, served, journal, output);
  await stopping;
  output.line("Stopping: letting what runs end");
  await server.close();
  return 0;
}

async function start(served: Served, options: ServeOptions): Promise<Server> {
  try {
    return await serve(served, { ...options, logger: createTerminalLogger(process.stderr) });
  } catch (error) {
    throw new UsageError(explained(error, options));
  }
}

function explained(error: unknown, { port, host = defaults.host }: ServeOptions): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") return `Port ${port} is taken; choose another with --port, or 0 for a free one`;
  if (code === "EACCES") return `Port ${port} needs more rights; choose one above 1023 with --port`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `${host} isn't an address of this machine`;
  const message = error instanceof Error ? error.message : String(error);
  return message.includes('auth: "anonymous"')
    ? `${host} isn't loopback, so others can reach this server; say --anonymous if everybody may call it`
    : message;
}

/** What is served, where its card is, and three lines to try. */
function introduce({ url, card }: Server, served: Served, journal: string, { line }: Output): void {
  const names =
    "agents" in served
      ? Object.entries(served.agents).map(([name, { name: title }]) => `${title} (${name})`)
      : [card.name];
  const host = url.replace(/^https?:\/\//, "");
  const message = `{"message":{"messageId":"'$(date +%s%N)'","role":"ROLE_USER","parts":[{"text":"Ada"}]}}`;
  line(`${names.join(", ")} at ${url}`);
  line(`  JSON-RPC and HTTP+JSON at ${url}${defaults.path}; gRPC, gRPC-Web and Connect on the same port`);
  if ("agents" in served) line(`  each at  ${url}/agents/<name>; the first address is ${card.name}'s`);
  line(`  card     ${url}${WELL_KNOWN_CARD}`);
  line(`  journal  ${journal}\n`);
  line("Try");
  line(
    `  curl -s ${url}${defaults.path}/message:send -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json' -d '${message}'`,
  );
  line(`  grpcurl -plaintext -d '${message}' ${host} lf.a2a.v1.A2AService/SendMessage`);
  line(`  npx nuncio send ${url} "Ada" --stream\n`);
  line("Stop with Ctrl-C.");
}

function stopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}
