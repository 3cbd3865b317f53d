import { anonymous, type Call } from "../a2a/call.js";
import { A2AError, invalidParams } from "../a2a/errors.js";
import { isInterrupted, isTerminal } from "../a2a/task-state.js";
import { type Message, type SendMessageRequest, TaskState } from "../a2a/types.js";
import type { AppendRequest, AppendResult, Head, NewEvent, Scope } from "../journal/journal.js";
import { messageKey } from "../journal/message-key.js";
import type { Core } from "./core.js";
import { answerDirectly, repeatOf } from "./direct-reply.js";
import { assertSendable } from "./judge.js";
import { taskNotFound } from "./limits.js";
import { senderOf } from "./ownership.js";

/** What became of a message: a task took it at a position of its log, or it was answered directly. */
export type Accepted =
  | {
      readonly kind: "task";
      readonly taskId: string;
      readonly message: number;
      readonly position: number;
      readonly repeated: boolean;
    }
  | { readonly kind: "reply"; readonly message: Message };

/** A message with what is known of where it goes. */
interface Addressed {
  readonly scope: Scope;
  readonly key: Uint8Array;
  readonly message: Message;
  readonly request: SendMessageRequest;
  readonly call: Call;
}

/**
 * Takes a message in: judges it, answers it directly or appends it to its task, new or old (§3.1.1, §3.4). The commit is the
 * acceptance: when this resolves, the message survives anything; when it rejects, nothing was stored. A repeat finds what the first
 * one did.
 */
export async function accept(core: Core, request: SendMessageRequest, call: Call): Promise<Accepted> {
  const message = assertSendable(request, core.responder.card());
  const scope = core.scopeOf(call);
  const addressed: Addressed = { scope, key: messageKey(scope, message), message, request, call };
  if (message.referenceTaskIds.length > 0) await assertReferences(core, addressed);
  core.runtime.at("accept.before-append");
  const accepted = message.taskId === "" ? await begin(core, addressed) : await follow(core, addressed);
  core.runtime.at("accept.after-append");
  return accepted;
}

/** Referenced tasks must be the caller's own (§3.4.3). */
async function assertReferences(core: Core, { scope, message }: Addressed): Promise<void> {
  for (const id of message.referenceTaskIds) {
    if ((await core.journal.head(id, scope)) === undefined) throw taskNotFound();
  }
}

/** A message without a task: answered directly, or the first of a new task. */
async function begin(core: Core, addressed: Addressed): Promise<Accepted> {
  const { scope, key, message, call } = addressed;
  const chosen = core.responder.choose(message);
  const skill = typeof chosen === "object" ? await chosen : chosen;
  const contextId = message.contextId === "" ? core.runtime.id() : message.contextId;
  if (core.responder.replies) {
    const reply = await answerDirectly(core, { skill, message, contextId, key, call });
    if (reply !== undefined) return reply;
  }
  if (!core.responder.runs) throw new A2AError("INVALID_AGENT_RESPONSE", "The agent gave no answer");

  const taskId = core.runtime.id();
  const result = await core.journal.append({
    taskId,
    events: [received(core, addressed, taskId, contextId)],
    key,
    create: { scope, principal: call.principal ?? anonymous, agent: core.responder.name, skill, contextId },
    ...work(core),
  });
  if (result.kind === "ok" || result.kind === "duplicate") return accepted(taskId, result);
  throw new Error(`A new task could not be begun: ${result.kind}`);
}

/** A message for a task that exists (§3.4.3). */
async function follow(core: Core, addressed: Addressed): Promise<Accepted> {
  const { scope, message } = addressed;
  for (;;) {
    const head = await core.journal.head(message.taskId, scope);
    if (head === undefined) throw taskNotFound();
    if (message.contextId !== "" && message.contextId !== head.contextId) {
      throw invalidParams([
        {
          path: "message.contextId",
          rule: "MISMATCH",
          description: "is not the context of the task",
          section: "§3.4.3",
        },
      ]);
    }
    const result = await core.journal.append(continuation(core, addressed, head));
    switch (result.kind) {
      case "ok":
      case "duplicate":
        return accepted(head.taskId, result);
      case "terminal":
        throw new A2AError(
          "UNSUPPORTED_OPERATION",
          "The task has ended and takes no more messages; send one without a taskId to begin another",
        );
      case "not-found":
        throw taskNotFound();
      case "held":
      case "conflict":
        continue; // the lease changed hands between the read and the append
      default:
        throw new Error(`A message could not be appended: ${result.kind}`);
    }
  }
}

/**
 * The append for a task as `head` shows it. A running task just gets the message: its executor can't complete without having seen it.
 * `due` is set in any case, so that a message which arrives as the lease is given up is found.
 */
function continuation(core: Core, addressed: Addressed, head: Head): AppendRequest {
  const event = received(core, addressed, head.taskId, head.contextId);
  const common = { taskId: head.taskId, reader: addressed.scope, key: addressed.key };
  if (isTerminal(head.state) || head.holder !== undefined)
    return { ...common, events: [event], due: core.runtime.now() };
  const waits = isInterrupted(head.state) && !core.journal.leases.hasRoom();
  const submitted = { kind: { case: "statusUpdated" as const, value: { state: TaskState.SUBMITTED } } };
  return { ...common, events: waits ? [event, submitted] : [event], idle: true, ...work(core) };
}

/** The accepting instance takes the lease if it has room; else the task waits for whoever has. */
function work(core: Core): Pick<AppendRequest, "take" | "due"> {
  return core.journal.leases.hasRoom()
    ? { take: { agentVersion: core.responder.version } }
    : { due: core.runtime.now() };
}

function received(core: Core, { message, request, call }: Addressed, taskId: string, contextId: string): NewEvent {
  return {
    kind: {
      case: "messageReceived",
      value: {
        message: { ...message, taskId, contextId },
        ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
        extensions: activated(core, call),
        from: senderOf(call),
      },
    },
  };
}

/** Those of the extensions that the caller names which the agent has; others are ignored. */
function activated(core: Core, { extensions = [] }: Call): string[] {
  if (extensions.length === 0) return [];
  const known = core.responder.card().capabilities?.extensions ?? [];
  return extensions.filter((uri) => known.some((one) => one.uri === uri));
}

/** What a message came to: itself, or what the first one of a repeat did. */
function accepted(taskId: string, result: Extract<AppendResult, { kind: "ok" | "duplicate" }>): Accepted {
  if (result.kind === "ok")
    return { kind: "task", taskId, message: result.first, position: result.position, repeated: false };
  return repeatOf(result);
}
