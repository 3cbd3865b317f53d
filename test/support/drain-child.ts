import { saying, startHost } from "./host.js";

/** A process that serves, has an open stream, drains, and then has nothing left to do. */
const { host, rpc } = await startHost();
const response = await rpc("SendStreamingMessage", saying("hold"));
const read = response.text();
await host.drain(5_000);
await read;
process.stdout.write("drained\n");
