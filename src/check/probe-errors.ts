import type { JsonObject } from "@bufbuild/protobuf";
import type { OperationKey } from "../a2a/operation.js";
import { TaskState } from "../a2a/types.js";
import { call, expectRefusal, judge, messageOf, refusal, type Subject } from "./subject.js";

/** Tasks that don't exist (§3.3.2). */
export async function probeUnknown(subject: Subject): Promise<void> {
  const id = subject.runtime.id();
  const requests: [OperationKey, JsonObject][] = [
    ["getTask", { id }],
    ["cancelTask", { id }],
    ["sendMessage", { message: messageOf(subject, { taskId: id }) }],
  ];
  if (subject.card.capabilities?.streaming === true)
    requests.push(
      ["subscribeToTask", { id }],
      ["sendStreamingMessage", { message: messageOf(subject, { taskId: id }) }],
    );
  for (const [key, request] of requests) {
    const outcome = await refusal(subject, key, request);
    expectRefusal(subject, "unknown.task", outcome, ["TASK_NOT_FOUND"], `${key} with an unknown task`);
  }
}

/** A task that has ended takes nothing more (§3.1.1, §3.1.5, §3.1.6). */
export async function probeEnded(subject: Subject, id: string): Promise<void> {
  const { card, tasks, record } = subject;
  const send = { message: messageOf(subject, { taskId: id }) };
  const streams = card.capabilities?.streaming === true;
  const expect = async (
    rule: "ended.send" | "ended.subscribe" | "ended.cancel",
    key: OperationKey,
    request: JsonObject,
  ) => {
    const reason = rule === "ended.cancel" ? "TASK_NOT_CANCELABLE" : "UNSUPPORTED_OPERATION";
    expectRefusal(subject, rule, await refusal(subject, key, request), [reason], `${key} of an ended task`);
  };
  await expect("ended.send", "sendMessage", send);
  if (streams) {
    await expect("ended.send", "sendStreamingMessage", { message: messageOf(subject, { taskId: id }) });
    await expect("ended.subscribe", "subscribeToTask", { id });
  } else record.skip("ended.subscribe", "the agent doesn't stream");
  if (tasks.get(id)?.status?.state === TaskState.CANCELED)
    record.skip("ended.cancel", "the only ended task is a canceled one");
  else await expect("ended.cancel", "cancelTask", { id });
}

/** Requests that break the contract (§3.3.2, §5.7). What protobuf can't carry goes only over the bindings that speak JSON. */
export async function probeInvalid(subject: Subject, taskId: string | undefined): Promise<void> {
  const whole = () => messageOf(subject);
  const without = (member: string): JsonObject => {
    const { [member]: _, ...rest } = whole();
    return { message: rest };
  };
  const required: [what: string, request: JsonObject][] = [
    ["without message", {}],
    ["without messageId", without("messageId")],
    ["without role", without("role")],
    ["without parts", without("parts")],
    ["with no part in parts", { message: { ...whole(), parts: [] } }],
    ["with an empty part", { message: { ...whole(), parts: [{}] } }],
  ];
  const values: [what: string, request: JsonObject][] = [
    ["with an unknown role", { message: { ...whole(), role: "ROLE_WIZARD" } }],
    ["with a part of two contents", { message: { ...whole(), parts: [{ text: "a", url: "https://example.org/" }] } }],
    ["with a number for text", { message: { ...whole(), parts: [{ text: 1 }] } }],
    ["with parts that are no list", { message: { ...whole(), parts: "a" } }],
    ["with historyLength -1", { message: whole(), configuration: { historyLength: -1 } }],
  ];
  // Where it is taken after all, nobody has to wait for the answer.
  const send = (
    rule: "invalid.required" | "invalid.values",
    what: string,
    { configuration = {}, ...request }: JsonObject,
  ) => {
    const impatient = { ...request, configuration: { returnImmediately: true, ...(configuration as JsonObject) } };
    return refused(subject, rule, "sendMessage", impatient, what);
  };
  for (const [what, request] of required) await send("invalid.required", what, request);
  if (subject.speaker.isJson) for (const [what, request] of values) await send("invalid.values", what, request);
  if (taskId !== undefined) {
    await refused(subject, "invalid.values", "getTask", { id: taskId, historyLength: -1 }, "with historyLength -1");
    if (subject.speaker.isJson) await probeUnknownFields(subject, taskId);
  }
}

async function refused(
  subject: Subject,
  rule: "invalid.required" | "invalid.values",
  key: OperationKey,
  request: JsonObject,
  what: string,
): Promise<void> {
  expectRefusal(
    subject,
    rule,
    await call(subject, key, request, { isUnjudged: true }),
    ["INVALID_PARAMS"],
    `${key} ${what}`,
  );
}

async function probeUnknownFields(subject: Subject, id: string): Promise<void> {
  const outcome = await call(subject, "getTask", { id, fieldOfTheFuture: "x" });
  judge(subject.record, "ignored.unknown-fields", outcome, outcome.case === "result");
}
