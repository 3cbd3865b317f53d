// Takes its time, says how far it is, and stops at once when it is canceled.
import { setTimeout as wait } from "node:timers/promises";
import { agent } from "nuncio";

const DEFAULT_SECONDS = 10;

export default agent({
  name: "Slow",
  description: "Counts as many seconds as you say, and can be canceled",
  async *run(task) {
    const seconds = Math.min(Math.max(Number.parseInt(task.input.text, 10) || DEFAULT_SECONDS, 1), 600);
    for (let second = 1; second <= seconds; second++) {
      await wait(1_000, undefined, { signal: task.signal });
      yield task.working(`${second} of ${seconds}`);
    }
    yield task.artifact(`Counted to ${seconds}`);
  },
});
