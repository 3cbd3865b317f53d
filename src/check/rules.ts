/** MUST: a fault. SHOULD: a weakness. MAY: advice that the specification doesn't give. */
export type Severity = "MUST" | "SHOULD" | "MAY";

/** What the specification, or a standard that it names, wants. */
export interface Rule {
  readonly severity: Severity;
  readonly section: string;
  readonly expected: string;
}

const must = (section: string, expected: string): Rule => ({ severity: "MUST", section, expected });
const should = (section: string, expected: string): Rule => ({ severity: "SHOULD", section, expected });
const may = (section: string, expected: string): Rule => ({ severity: "MAY", section, expected });

/** Of the card. */
const cardRules = {
  "card.found": must("§8.2", "An Agent Card at the address, or at /.well-known/agent-card.json below it"),
  "card.content-type": should("§14.3", "The card comes as application/json"),
  "card.contract": must("§4.4.1", "The card is a valid AgentCard"),
  "card.unknown-fields": may("§5.7", "The card has only fields of the contract"),
  "card.lists": should("§5.7", "REQUIRED lists have at least one element"),
  "card.interfaces": must("§8.3.1", "supportedInterfaces names at least one interface, each once"),
  "card.urls": must("§8.3.1", "Each interface has a URL that a call can go to"),
  "card.elsewhere": must("§8.3.1", "No interface points at the loopback of whoever reads the card"),
  "card.bindings": should("§5.8", "protocolBinding is JSONRPC, GRPC or HTTP+JSON, or the URI of a custom binding"),
  "card.versions": should("§3.6", "protocolVersion is Major.Minor, like 1.0"),
  "card.tls": must("§7.1", "Interfaces in production are encrypted"),
  "card.links": should("§4.4.1", "Links in the card are absolute http(s) URLs"),
  "card.skill-ids": must("§4.4.5", "Each skill has an id of its own"),
  "card.modes": should("§4.4.1", "Input and output modes are media types"),
  "card.security": must("§4.5", "Security requirements name schemes that securitySchemes has"),
  "card.schemes": must("§4.5", "Security schemes are complete: known locations, flows and URLs"),
  "card.extensions": must("§4.6.1", "Each extension is declared once, by a URI"),
  "card.signatures": must("§8.4.2", "Each signature has a protected header with alg and kid, and base64url throughout"),
  "card.signatures.typ": should("§8.4.2", 'The protected header has typ "JOSE"'),
  "card.signatures.verified": must("§8.4.3", "Signatures verify against the keys of whoever signed"),
  "card.cache-control": should("§8.6.1", "Cache-Control with a max-age"),
  "card.etag": should("§8.6.1", "An ETag"),
  "card.conditional": should("§8.6.2", "If-None-Match with the current ETag is answered with 304"),
  "card.cors": may("§8.2", "Access-Control-Allow-Origin, so that a page can read the card"),
} as const satisfies Record<string, Rule>;

/** Of what each wire carries. */
const wireRules = {
  "interface.spoken": must("§8.3.1", "The interface answers in its binding"),
  "check.whole": must("§5.1", "Everything is checked"),
  "interface.answers": must("§3.3.2", "Each call is answered, with a result or an error"),
  "payload.contract": must("§4", "Each answer is a valid message of the contract"),
  "payload.unknown-fields": may("§5.7", "Answers have only fields of the contract"),
  "jsonrpc.envelope": must("§9.5", "Each answer is a JSON-RPC 2.0 response object"),
  "jsonrpc.id": must("§9.3", "An answer has the id of its request"),
  "jsonrpc.content-type": must("§9.1", "Answers come as application/json"),
  "jsonrpc.error-info": should("§9.5", "error.data of an A2A error holds its google.rpc.ErrorInfo"),
  "jsonrpc.parse-error": must("§9.5", "What is no JSON is answered with -32700"),
  "jsonrpc.invalid-request": must("§9.5", "What is no JSON-RPC request is answered with -32600"),
  "jsonrpc.method-not-found": must("§9.5", "An unknown method is answered with -32601"),
  "jsonrpc.invalid-params": must("§9.5", "params that are no object are answered with -32602"),
  "http.content-type": should("§11.1", "Answers come as application/a2a+json"),
  "http.error-shape": must("§11.6", "An error is a google.rpc.Status below error, its code the HTTP status"),
  "http.error-info": must("§11.6", "details of an A2A error hold its google.rpc.ErrorInfo"),
  "http.parse-error": must("§11.6", "What is no JSON is answered with 400"),
  "http.not-found": must("§11.6", "A path that nothing has is answered with 404, and not as if it were an operation"),
  "http.subscribe": must("§11.3.2", "POST /tasks/{id}:subscribe subscribes"),
  "grpc.status": must("§10.6", "Each call ends with a grpc-status"),
  "grpc.error-info": must("§10.6", "status.details of an A2A error hold its google.rpc.ErrorInfo"),
  "grpc.unimplemented": must("§10.6", "An unknown method is answered with UNIMPLEMENTED"),
  "grpc.garbage": must("§10.6", "Bytes that are no message are answered with an error"),
  "connect.error-info": must("§12.4", "An A2A error keeps its meaning: google.rpc.ErrorInfo in its details"),
  "stream.content-type": must("§9.4.2", "A stream comes as text/event-stream"),
  "stream.error": must(
    "§3.3.2",
    "A request that is refused gets the error of the binding, and no stream that says nothing",
  ),
} as const satisfies Record<string, Rule>;

/** Of what the agent does. */
const behaviourRules = {
  "send.answers": must("§3.1.1", "A message is answered with a Task or a Message"),
  "send.blocks": must("§3.2.2", "A send returns when the task has ended or is interrupted"),
  "send.complete": must("§3.2.2", "The task that a send returns has all its artifacts"),
  "send.immediately": must("§3.2.2", "returnImmediately returns once there is a task"),
  "message.role": must("§4.1.5", "What the agent says has ROLE_AGENT"),
  "context.kept": must("§3.4.1", "The caller's contextId is kept, or the message refused"),
  "context.mismatch": must("§3.4.3", "A contextId that isn't the task's is refused"),
  "follow-up.same": must("§3.4.3", "An answer to a task that asks goes on with that task, in its context"),
  "task.same": must("§3.1.3", "A task that is asked for is the one that was returned"),
  "history.zero": should("§3.2.4", "historyLength 0 leaves history out"),
  "history.most": must("§3.2.4", "historyLength n returns at most n messages"),
  "list.finds": must("§3.1.4", "A list by context has the tasks of that context, and no others"),
  "list.artifacts-left-out": must("§3.1.4", "Artifacts are left out unless includeArtifacts asks for them"),
  "list.artifacts": should("§3.1.4", "includeArtifacts: true brings the artifacts"),
  "list.sorted": must("§3.1.4", "The latest status comes first"),
  "list.pages": must("§3.1.4", "pageSize bounds a page, and pageToken goes on after it without repeats"),
  "list.total": must("§3.1.4", "totalSize counts what the filters let through"),
  "list.filters": must("§3.1.4", "status and statusTimestampAfter filter"),
  "stream.first": must("§3.1.2", "A stream begins with the Task, or is one Message"),
  "stream.ids": must("§4.2", "Events name the stream's task and context"),
  "stream.closes": must(
    "§3.1.2",
    "A stream ends with the task: at once, with nothing but a Task after the last status",
  ),
  "stream.lasts": should("§11.7", "A stream lasts until its task has ended or is interrupted"),
  "stream.same": must("§3.5.2", "What was streamed is what the task has"),
  "subscribe.first": must("§3.1.6", "A subscription begins with the Task"),
  "subscribe.ends": must("§3.1.6", "A subscription ends when the task does, and tells how"),
  "cancel.task": must("§3.1.5", "Cancelling returns the task, CANCELED or as it ended"),
  "cancel.again": must(
    "§3.3.1",
    "Cancelling again gives the CANCELED task, or says that it can't be canceled or found",
  ),
  "ended.send": must("§3.1.1", "A message to an ended task is UnsupportedOperation"),
  "ended.subscribe": must("§3.1.6", "A subscription to an ended task is UnsupportedOperation"),
  "ended.cancel": must("§3.1.5", "An ended task can't be canceled: TaskNotCancelable"),
  "unknown.task": must("§3.3.2", "A task that doesn't exist is TaskNotFound"),
  "invalid.required": must("§3.3.2", "A request without what is REQUIRED is refused as invalid"),
  "invalid.values": must("§3.3.2", "Values that the contract doesn't have, or out of bounds, are refused as invalid"),
  "invalid.details": should("§3.3.2", "A refusal of invalid parameters says which: google.rpc.BadRequest"),
  "ignored.unknown-fields": should("§5.7", "Unknown fields of a request are ignored"),
  "capability.streaming": must("§3.3.4", "Without the capability, streaming is UnsupportedOperation"),
  "capability.push": must("§3.3.4", "Without the capability, push configs are PushNotificationNotSupported"),
  "capability.extended-card": must("§3.3.4", "Without the capability, the extended card is UnsupportedOperation"),
  "capability.extensions": must("§3.3.4", "Without a required extension, a call is ExtensionSupportRequired"),
  "extended-card.answers": must("§3.1.11", "A declared extended card is given, or refused for what it is"),
  "push.configs": must("§3.1.7", "Push configs are created, read, listed and deleted"),
  "auth.challenge": should("§3.3.2", "A refusal for want of authentication says which is wanted"),
  "version.unsupported": must("§3.6.2", "An unknown A2A-Version is VersionNotSupported"),
  "version.patch": must("§3.6", "A patch number in A2A-Version doesn't matter"),
  "version.absent": must("§3.6.2", "No A2A-Version means 0.3, and isn't served as 1.0"),
  "version.query": should("§3.6.1", "A2A-Version may be a query parameter instead"),
  "equal.task": must("§5.1", "Every binding returns the same task"),
  "equal.list": must("§5.1", "Every binding lists the same tasks"),
  "equal.errors": must("§5.1", "Every binding refuses the same request for the same reason"),
} as const satisfies Record<string, Rule>;

/** Everything that is checked. */
export const rules = { ...cardRules, ...wireRules, ...behaviourRules };
/** The name of a rule: `list.sorted`. */
export type RuleId = keyof typeof rules;
