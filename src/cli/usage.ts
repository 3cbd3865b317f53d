/** A command was written wrongly; the message says how it is right. Exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** The whole command line, with its exit codes. */
export const USAGE = `nuncio serves and calls A2A agents.

  nuncio serve FILE [--port 8080] [--host 127.0.0.1] [--journal sqlite:nuncio.db | memory:] [--public-url URL] [--anonymous]
  nuncio card URL
  nuncio send URL TEXT [--stream] [--task ID] [--context ID] [--skill ID] [--no-wait]
  nuncio task get URL ID [--history N]
  nuncio task list URL [--context ID] [--state WORKING] [--limit N]
  nuncio task cancel URL ID
  nuncio task watch URL ID [--after POSITION]
  nuncio help, nuncio --version

Every call takes --binding jsonrpc|http-json|grpc|grpc-web|connect, --header "name: value" (repeatable), --timeout SECONDS and --json.
Exit codes: 0 done; 1 the task ended FAILED, REJECTED or CANCELED; 2 written wrongly; 3 the call failed and the agent didn't act;
4 the call failed and it isn't known whether the agent acted.`;
