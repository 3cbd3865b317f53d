// An echo agent on nuncio, every event durable in SQLite. Prints its port.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, serve } from "nuncio";

const echo = agent({
  name: "Echo",
  description: "Says what it hears",
  async *run(task) {
    yield task.artifact(task.input.text);
  },
});
const journal = `sqlite:${join(mkdtempSync(join(tmpdir(), "nuncio-bench-")), "journal.db")}`;
const server = await serve(echo, { port: 0, journal });
process.send?.({ url: `${server.url}/a2a` });
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ rss: process.memoryUsage().rss, cpuUs: user + system });
});
