import type { JsonObject } from "@bufbuild/protobuf";
import type { OperationKey } from "../a2a/operation.js";
import { messageType, validateAs } from "../a2a/validate.js";
import { call, expectRefusal, judge, messageOf, type Subject } from "./subject.js";

/** What the card doesn't offer is refused for what it is; what it offers is there (§3.3.4). */
export async function probeCapabilities(subject: Subject, taskId: string | undefined): Promise<void> {
  await probePush(subject, taskId ?? subject.runtime.id());
  await probeExtendedCard(subject);
  await probeRequiredExtensions(subject);
}

async function probePush(subject: Subject, taskId: string): Promise<void> {
  const { record, card } = subject;
  if (card.capabilities?.pushNotifications === true)
    return record.skip("push.configs", "deliveries need a webhook that the agent can reach");
  const id = subject.runtime.id();
  const requests: [OperationKey, JsonObject][] = [
    ["createTaskPushNotificationConfig", { taskId, url: "https://example.org/webhook" }],
    ["getTaskPushNotificationConfig", { taskId, id }],
    ["listTaskPushNotificationConfigs", { taskId }],
    ["deleteTaskPushNotificationConfig", { taskId, id }],
  ];
  for (const [key, request] of requests) {
    const outcome = await call(subject, key, request);
    expectRefusal(subject, "capability.push", outcome, ["PUSH_NOTIFICATION_NOT_SUPPORTED"], key);
  }
}

async function probeExtendedCard(subject: Subject): Promise<void> {
  const { record, card } = subject;
  const outcome = await call(subject, "getExtendedAgentCard", {});
  if (card.capabilities?.extendedAgentCard !== true) {
    expectRefusal(subject, "capability.extended-card", outcome, ["UNSUPPORTED_OPERATION"], "getExtendedAgentCard");
    return;
  }
  if (outcome.case === "error" && outcome.error.isUnauthenticated) return record.pass("extended-card.answers");
  if (outcome.case === "error")
    return expectRefusal(
      subject,
      "extended-card.answers",
      outcome,
      ["EXTENDED_AGENT_CARD_NOT_CONFIGURED", "PERMISSION_DENIED"],
      "getExtendedAgentCard",
    );
  const isCard =
    outcome.case === "result" &&
    validateAs(messageType("AgentCard"), outcome.json, { unknownFields: "ignore" }).length === 0;
  judge(record, "extended-card.answers", outcome, isCard);
}

async function probeRequiredExtensions(subject: Subject): Promise<void> {
  const required = subject.card.capabilities?.extensions.filter((one) => one.required) ?? [];
  if (required.length === 0) return;
  const request = { message: messageOf(subject), configuration: { returnImmediately: true } };
  const outcome = await call(subject, "sendMessage", request, { headers: { "a2a-extensions": "" } });
  const uris = required.map(({ uri }) => uri).join(", ");
  expectRefusal(
    subject,
    "capability.extensions",
    outcome,
    ["EXTENSION_SUPPORT_REQUIRED"],
    `sendMessage without ${uris}`,
  );
}
