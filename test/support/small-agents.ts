import { agent } from "nuncio";
import type { BindingName } from "nuncio/client";
import { silentLogger } from "../../src/runtime/logger.js";

/** Every binding that the client speaks. */
export const BINDINGS: readonly BindingName[] = ["jsonrpc", "http-json", "grpc", "grpc-web", "connect"];
/** An agent that repeats what it hears, with its name before it. */
export const says = (text: string) =>
  agent({
    name: text,
    description: `Says ${text}`,
    async *run(task) {
      yield task.artifact(`${text}: ${task.input.text}`);
    },
  });

/** Serve options for a test: a free port, nothing kept, nothing printed. */
export const quiet = { port: 0, journal: "memory:", logger: silentLogger } as const;
