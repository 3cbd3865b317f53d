import type { JsonObject } from "@bufbuild/protobuf";
import { decodeJson } from "../a2a/codec.js";
import { A2A_DOMAIN, errorRow, type Reason } from "../a2a/errors.js";
import type { OperationKey } from "../a2a/operation.js";
import { type AgentCard, type Task, TaskSchema } from "../a2a/types.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { v1 } from "../a2a/v1.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Verdicts } from "./report.js";
import type { RuleId } from "./rules.js";
import type { ConnectSpeaker } from "./speak-connect.js";
import type { GrpcSpeaker } from "./speak-grpc.js";
import type { HttpJsonSpeaker } from "./speak-http-json.js";
import type { JsonRpcSpeaker } from "./speak-jsonrpc.js";
import { type OpenStream, type Outcome, type SpeakOptions, told, type WireError } from "./speaker.js";

/** One interface under check, and what has been learned of it so far. */
export interface Subject {
  readonly speaker: JsonRpcSpeaker | HttpJsonSpeaker | GrpcSpeaker | ConnectSpeaker;
  /** Whether anything came back that was of its binding. */
  hasAnswered(): boolean;
  readonly record: Verdicts;
  readonly card: AgentCard;
  readonly runtime: Runtime;
  /** What is sent. */
  readonly text: string;
  readonly timeoutMs: number;
  /** Of the tasks that were made: how they were last seen. */
  readonly tasks: Map<string, Task>;
  /** The ids of all tasks that came back, also from what should have been refused. */
  readonly made: Set<string>;
  /** What each request that had to be refused was refused for, by what it was. */
  readonly refusals: Map<string, string>;
}

/** A stream, to its end or until nothing came any more. */
export interface Collected {
  readonly events: readonly UnknownObject[];
  /** What it ended with, if that is no good end. */
  readonly broken: Outcome | undefined;
}

/** Calls an operation. */
export async function call(
  subject: Subject,
  key: OperationKey,
  request: JsonObject,
  options?: SpeakOptions,
): Promise<Outcome> {
  const outcome = await subject.speaker.call(operationOf(key), request, options);
  remember(subject, outcome);
  return outcome;
}

/** Opens a stream. */
export async function open(subject: Subject, key: OperationKey, request: JsonObject): Promise<OpenStream | Outcome> {
  const opened = await subject.speaker.open(operationOf(key), request);
  if (opened.case !== "stream") return opened;
  return {
    ...opened,
    async next() {
      const event = await opened.next();
      remember(subject, event);
      return event;
    },
  };
}

/** Whatever was asked for: what an agent made of it has to be canceled in the end. */
function remember({ made }: Subject, outcome: Outcome | undefined): void {
  if (outcome?.case !== "result") return;
  const { task, statusUpdate, artifactUpdate } = outcome.json;
  const ids = [idIn(task, "id"), idIn(statusUpdate, "taskId"), idIn(artifactUpdate, "taskId")];
  for (const id of ids) if (id !== undefined) made.add(id);
}

function idIn(json: unknown, member: "id" | "taskId"): string | undefined {
  const id = isObject(json) ? json[member] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** What is left of a stream. */
export async function collect(stream: OpenStream): Promise<Collected> {
  const events: UnknownObject[] = [];
  try {
    for (;;) {
      const event = await stream.next();
      if (event === undefined) return { events, broken: undefined };
      if (event.case !== "result") return { events, broken: event };
      events.push(event.json);
    }
  } finally {
    stream.close();
  }
}

/** A refusal, of a stream as well: one that begins where none should is read no further. */
export async function refusal(subject: Subject, key: OperationKey, request: JsonObject): Promise<Outcome> {
  const operation = operationOf(key);
  if (!operation.streaming) return call(subject, key, request);
  const opened = await open(subject, key, request);
  if (opened.case !== "stream") return opened;
  const first = await opened.next();
  opened.close();
  return first ?? { case: "broken", why: "a stream without an event" };
}

/** A message to the agent. */
export function messageOf({ runtime, text }: Subject, more: JsonObject = {}): JsonObject {
  return { messageId: runtime.id(), role: "ROLE_USER", parts: [{ text }], ...more };
}

/** The task of an answer, read forgivingly; `undefined` when it is none. */
export function readTask(json: unknown): Task | undefined {
  if (!isObject(json)) return undefined;
  try {
    const task = decodeJson(TaskSchema, json, { from: "peer" });
    return task.id === "" ? undefined : task;
  } catch {
    return undefined;
  }
}

/** GetTask, read. */
export async function currentTask(subject: Subject, id: string): Promise<Task | undefined> {
  const outcome = await call(subject, "getTask", { id });
  const task = outcome.case === "result" ? readTask(outcome.json) : undefined;
  if (task !== undefined) subject.tasks.set(id, task);
  return task;
}

/** Passes or fails by an outcome. Without an answer nothing is known, but that there should have been one. */
export function judge(
  record: Verdicts,
  rule: RuleId,
  outcome: Outcome | OpenStream,
  isMet: boolean,
  seen: () => string = () => told(outcome),
): void {
  if (outcome.case !== "silent" && outcome.case !== "unsent") {
    record.expect(rule, isMet, seen);
    return;
  }
  if (outcome.case === "silent") record.fail("interface.answers", `${outcome.why} (while ${rule} was checked)`);
  record.skip(rule, outcome.why);
}

/**
 * A request that has to be refused, for one of these reasons.
 * @param what the request, in words.
 */
export function expectRefusal(
  { speaker, record, refusals }: Subject,
  rule: RuleId,
  outcome: Outcome,
  reasons: readonly [Reason, ...Reason[]],
  what: string,
): void {
  const columns = reasons.map((reason) => errorRow(reason)[speaker.codes]);
  const wanted = reasons.map((reason, index) => `${columns[index]} ${reason}`).join(" or ");
  if (outcome.case !== "error") {
    if (outcome.case === "result") refusals.set(what, "no error");
    judge(record, rule, outcome, false, () => `${what}: ${told(outcome)}, not ${wanted}`);
    return;
  }
  const { code } = outcome.error;
  const at = columns.indexOf(code);
  const reason = outcome.error.reason ?? reasons[at];
  if (reason !== undefined) refusals.set(what, reason); // numbers of different wires can't be compared
  record.expect(rule, at >= 0, () => `${what}: ${told(outcome)}, not ${wanted}`);
  if (at >= 0 && reasons.every((one) => errorRow(one).domain === A2A_DOMAIN))
    expectErrorInfo({ speaker, record }, outcome.error, reasons, what);
  if (reasons.includes("INVALID_PARAMS") && at >= 0)
    record.expect("invalid.details", outcome.error.hasViolations, () => `${what}: ${told(outcome)}`);
}

const ERROR_INFO_RULES = {
  jsonrpc: "jsonrpc.error-info",
  "http-json": "http.error-info",
  grpc: "grpc.error-info",
  "grpc-web": "grpc.error-info",
  connect: "connect.error-info",
} as const;

function expectErrorInfo(
  { speaker, record }: Pick<Subject, "speaker" | "record">,
  { reason, domain }: WireError,
  reasons: readonly Reason[],
  what: string,
): void {
  const isSaid = reasons.some((one) => one === reason) && domain === A2A_DOMAIN;
  const seen = reason === undefined ? "no ErrorInfo" : `${reason} of ${domain}`;
  record.expect(ERROR_INFO_RULES[speaker.binding], isSaid, () => `${what}: ${seen}, not ${reasons.join(" or ")}`);
}

function operationOf(key: OperationKey) {
  const operation = v1.operations.find((one) => one.key === key);
  if (operation === undefined) throw new TypeError(`A2A 1.0 has no operation ${key}`);
  return operation;
}
