import { type Server, serve } from "nuncio";
import { afterAll, beforeAll } from "vitest";
import type { ServeOptions } from "../../src/serve-options.js";
import { scripted } from "./scripted-agent.js";
import { quiet } from "./small-agents.js";

/** The scripted agent on a port, for the tests of a file; everybody is anonymous unless `options` say otherwise. */
export function served(options: ServeOptions = {}, agent: Parameters<typeof serve>[0] = scripted) {
  let server: Server | undefined;
  beforeAll(async () => {
    server = await serve(agent, { ...quiet, cancelGraceMs: 200, drainMs: 500, ...options });
  });
  afterAll(() => server?.close());
  return {
    get url() {
      if (server === undefined) throw new Error("Not served yet");
      return server.url;
    },
  };
}
