import { isTerminal } from "../a2a/task-state.js";
import type { AgentCard, AgentInterface } from "../a2a/types.js";
import { type BindingName, isReachable, spokenBinding } from "../client/choose-interface.js";
import { type Runtime, systemRuntime } from "../runtime/runtime.js";
import { fetchCard } from "./card.js";
import { compareBindings } from "./compare.js";
import { lintCard } from "./lint-card.js";
import { patient } from "./patient.js";
import { probeCapabilities } from "./probe-capabilities.js";
import { probeEnded, probeInvalid, probeUnknown } from "./probe-errors.js";
import { probeCancel, probeRunning } from "./probe-running.js";
import { type FirstAnswer, probeFollowUp, probeSend } from "./probe-send.js";
import { probeStream } from "./probe-stream.js";
import { probeGet, probeList } from "./probe-tasks.js";
import { probeGrpc, probeHttpJson, probeJsonRpc, probeVersions } from "./probe-wire.js";
import { createFindings, type Finding, type Findings, type Verdicts } from "./report.js";
import type { RuleId } from "./rules.js";
import { createConnectSpeaker } from "./speak-connect.js";
import { createGrpcSpeaker } from "./speak-grpc.js";
import { createHttpJsonSpeaker } from "./speak-http-json.js";
import { createJsonRpcSpeaker } from "./speak-jsonrpc.js";
import type { SpeakerContext } from "./speaker.js";
import { call, type Subject } from "./subject.js";

/** How an agent is checked. */
export interface CheckOptions {
  /** Only these. Default: every interface of the card that we speak. */
  readonly bindings?: readonly BindingName[] | undefined;
  /** Sent with every request, names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Longest wait for one answer, in milliseconds. Default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** What is sent to the agent. Default `Hello`. */
  readonly text?: string | undefined;
  readonly runtime?: Runtime | undefined;
}

/** What a check found. */
export interface Report {
  readonly url: string;
  /** `undefined`: there is no card, so nothing else could be checked. */
  readonly agent: { readonly name: string; readonly version: string } | undefined;
  readonly interfaces: readonly CheckedInterface[];
  readonly findings: readonly Finding[];
}

/** An interface of the card, and whether it was checked. */
export interface CheckedInterface {
  readonly protocolBinding: string;
  readonly protocolVersion: string;
  readonly url: string;
  /** Why not, if it wasn't. */
  readonly because?: string;
}

/**
 * Checks a live agent: its card, and every interface of it that we speak, in raw requests; and the bindings with one another. Sends about
 * four messages that the agent answers, and some that it has to refuse, over each binding. Gives each binding ten times `timeoutMs`, all at
 * once, and reads at most 4 MiB an answer. Never throws for what an agent does: that is in the report.
 */
export async function checkAgent(target: URL, options: CheckOptions = {}): Promise<Report> {
  const { runtime = systemRuntime, headers = {}, timeoutMs = 30_000, text = "Hello" } = options;
  const findings = createFindings();
  const context = { runtime, headers, timeoutMs };
  const found = await fetchCard({ ...context, record: findings.at("card") }, target);
  if (found === undefined) return { url: target.href, agent: undefined, interfaces: [], findings: findings.list() };
  const { card } = found;
  lintCard(findings.at("card"), found);

  const { interfaces, chosen } = choose(card, options.bindings);
  const extensions = card.capabilities?.extensions.filter(({ required }) => required).map(({ uri }) => uri) ?? [];
  const sent = extensions.length === 0 ? headers : { "a2a-extensions": extensions.join(","), ...headers };
  const subjects = chosen.map(([binding, one]) =>
    subjectOf(binding, findings, { ...context, headers: sent, interface: one }, { card, text }),
  );
  try {
    await Promise.all(
      subjects.map(async (subject) => {
        await exercise(subject).catch(brokenOff(subject.record));
        await cancelLeft(subject);
      }),
    );
    const comparing = findings.at("all bindings");
    const answering = subjects.filter((subject) => subject.hasAnswered());
    await compareBindings(comparing, answering).catch(brokenOff(comparing));
  } finally {
    for (const { speaker } of subjects) speaker.close();
  }
  const agent = { name: card.name, version: card.version };
  return { url: found.url, agent, interfaces, findings: findings.list() };
}

/** Whatever an agent makes of a check, the rest of the report stands. */
function brokenOff(record: Verdicts): (error: unknown) => void {
  return (error) =>
    record.skip("check.whole", `the check broke off: ${error instanceof Error ? error.message : error}`);
}

/** One interface of each binding, and why the others aren't looked at. */
function choose(card: AgentCard, wanted: readonly BindingName[] | undefined) {
  const chosen = new Map<BindingName, AgentInterface>();
  const interfaces = card.supportedInterfaces.map((one): CheckedInterface => {
    const { protocolBinding, protocolVersion, url } = one;
    const skipped = (because: string) => ({ protocolBinding, protocolVersion, url, because });
    const binding = spokenBinding(one);
    if (binding === undefined) return skipped("no binding that is known here");
    if (!/^1\.0(\.|$)/.test(protocolVersion)) return skipped("only A2A 1.0 is checked");
    if (wanted !== undefined && !wanted.includes(binding)) return skipped("not asked for");
    if (chosen.has(binding)) return skipped("another interface of this binding is checked");
    if (!isReachable({ binding, interface: one })) return skipped("no call can go to its URL");
    chosen.set(binding, one);
    return { protocolBinding, protocolVersion, url };
  });
  return { interfaces, chosen: [...chosen] };
}

function subjectOf(
  binding: BindingName,
  findings: Findings,
  context: Omit<SpeakerContext, "record">,
  { card, text }: Pick<Subject, "card" | "text">,
): Subject {
  const { runtime, timeoutMs } = context;
  const record = findings.at(binding);
  const speaking = patient(speakerOf(binding, { ...context, record }), runtime, timeoutMs);
  return {
    ...speaking,
    record,
    card,
    runtime,
    text,
    timeoutMs,
    tasks: new Map(),
    made: new Set(),
    refusals: new Map(),
  };
}

function speakerOf(binding: BindingName, context: SpeakerContext): Subject["speaker"] {
  switch (binding) {
    case "jsonrpc":
      return createJsonRpcSpeaker(context);
    case "http-json":
      return createHttpJsonSpeaker(context);
    case "connect":
      return createConnectSpeaker(context);
    default:
      return createGrpcSpeaker(binding, context);
  }
}

const NEEDS_TASK: readonly RuleId[] = [
  "task.same",
  "history.zero",
  "list.finds",
  "subscribe.first",
  "cancel.task",
  "context.mismatch",
];
const NEEDS_ANSWER: readonly RuleId[] = ["stream.first", ...NEEDS_TASK];
const NEEDS_ENDED: readonly RuleId[] = ["ended.send", "ended.subscribe", "ended.cancel"];

/** Everything that one interface is asked. */
async function exercise(subject: Subject): Promise<void> {
  const { record, tasks } = subject;
  const skip = (rules: readonly RuleId[], because: string): void => {
    for (const rule of rules) record.skip(rule, because);
  };
  const first = await probeSend(subject);
  if (first.case === "none") skip(NEEDS_ANSWER, first.because);
  else await probeAnswering(subject, first);
  if (first.case === "message") skip(NEEDS_TASK, "the agent answers with messages, so there is no task");
  const [task] = tasks.values();
  await probeUnknown(subject);
  await probeInvalid(subject, task?.id);
  await probeCapabilities(subject, task?.id);
  const ended = [...tasks.values()].find(({ status }) => isTerminal(status?.state));
  if (ended === undefined) skip(NEEDS_ENDED, "no task has ended");
  else await probeEnded(subject, ended.id);
  await probeVersions(subject);
  await probeWire(subject);
  const why = first.case === "none" ? first.because : "nothing came back that is of it";
  record.expect("interface.spoken", subject.hasAnswered(), () => why);
}

/** What an agent that answers does with its tasks. A slow one is first asked for a task that it needn't finish. */
async function probeAnswering(subject: Subject, { case: answered }: FirstAnswer): Promise<void> {
  if (answered === "slow") await probeRunning(subject);
  const [task] = subject.tasks.values();
  await probeStream(subject, task?.contextId ?? "");
  if (task !== undefined) {
    await probeGet(subject, task.id);
    await probeList(subject, task.id, task.contextId);
  }
  if (answered === "task") {
    await probeFollowUp(subject);
    await probeRunning(subject);
  }
  await cancelOpen(subject);
}

/** Cancels what hasn't ended; what is interrupted can be canceled as well. */
async function cancelOpen(subject: Subject): Promise<void> {
  for (const [id, { status }] of subject.tasks) if (!isTerminal(status?.state)) await probeCancel(subject, id);
}

/** Leaves nothing behind that goes on or waits, as far as an answer told of it: not even what should have been refused. */
async function cancelLeft(subject: Subject): Promise<void> {
  for (const id of subject.made)
    if (!isTerminal(subject.tasks.get(id)?.status?.state))
      await call(subject, "cancelTask", { id }, { isUnjudged: true });
}

async function probeWire(subject: Subject): Promise<void> {
  const { speaker } = subject;
  switch (speaker.binding) {
    case "jsonrpc":
      return probeJsonRpc(subject, speaker);
    case "http-json":
      return probeHttpJson(subject, speaker);
    case "connect":
      return;
    default:
      return probeGrpc(subject, speaker);
  }
}
