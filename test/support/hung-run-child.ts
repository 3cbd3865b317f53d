import { agent, serve } from "nuncio";
import { connect } from "nuncio/client";

/** A process that closes while a run waits for something that never comes, and that keeps no process alive. */
const [file = ""] = process.argv.slice(2);
const hung = agent({
  name: "Hung",
  description: "Never says a word",
  async *run() {
    await new Promise(() => {});
  },
});
const server = await serve(hung, { port: 0, journal: `sqlite:${file}`, drainMs: 100 });
const peer = await connect(server.url);
const { task } = await peer.send("x", { returnImmediately: true });
await server.close();
process.stdout.write(`${task?.id}\n`);
