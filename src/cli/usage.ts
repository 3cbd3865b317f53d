/** A command was written wrongly; the message says how it is right. Exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** How each command is written, without the options that every call takes. */
export const usage = {
  serve:
    "nuncio serve FILE [--port 8080] [--host 127.0.0.1] [--journal sqlite:nuncio.db | memory:] [--public-url URL] [--anonymous]",
  card: "nuncio card URL",
  send: "nuncio send URL TEXT [--data JSON] [--stream] [--task ID] [--context ID] [--skill ID] [--no-wait]",
  get: "nuncio task get URL ID [--history N]",
  list: "nuncio task list URL [--context ID] [--state WORKING] [--limit N]",
  cancel: "nuncio task cancel URL ID",
  watch: "nuncio task watch URL ID [--after POSITION]",
  check: "nuncio check URL [--binding NAME]… [--text TEXT] [--junit FILE] [--strict]",
  validate: "nuncio validate [FILE] [--type NAME] [--json]",
} as const;

/** What `nuncio help` says: all commands, and the exit codes. */
export const HELP = `nuncio serves and calls A2A agents.

${Object.values(usage)
  .map((line) => `  ${line}`)
  .join("\n")}
  nuncio help, nuncio --version

Every call takes --binding jsonrpc|http-json|grpc|grpc-web|connect, --header "name: value" (repeatable), --timeout SECONDS and --json.
Exit codes: 0 done; 1 the task ended FAILED, REJECTED or CANCELED, or what was checked or validated breaks the contract;
2 written wrongly; 3 the call failed and the agent didn't act; 4 the call failed and it isn't known whether the agent acted.`;
