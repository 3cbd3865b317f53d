// The smallest agent: greets whoever writes.
import { agent } from "nuncio";

export default agent({
  name: "Hello",
  description: "Greets whoever writes",
  async *run(task) {
    yield task.artifact(`Hello ${task.input.text}`);
  },
});
