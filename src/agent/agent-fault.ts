/** An agent broke a rule of `run`; the log names the place. */
export class AgentFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AgentFault";
  }
}
