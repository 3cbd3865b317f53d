import { CONFIG_PAGE_SIZE, HISTORY_LENGTH, judgeBound, PAGE_SIZE } from "../a2a/bounds.js";
import { A2AError, invalidParams, type Violation } from "../a2a/errors.js";
import type { Handler } from "../a2a/handler.js";
import {
  type AgentCard,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTasksRequest,
  type Message,
  Role,
  type SendMessageRequest,
} from "../a2a/types.js";
import { MAX_REFERENCES } from "./limits.js";
import { assertModes } from "./modes.js";

/**
 * The rules that need nothing but the request and the card, beyond those of the contract's shape: the same for every agent, whether its
 * tasks are kept here or its operations are written by hand.
 *
 * @throws A2AError INVALID_PARAMS, PUSH_NOTIFICATION_NOT_SUPPORTED, CONTENT_TYPE_NOT_SUPPORTED (§3.1.1).
 */
export function assertSendable({ message, configuration }: SendMessageRequest, card: AgentCard): Message {
  if (message === undefined)
    throw invalidParams([{ path: "message", rule: "REQUIRED", description: "is required", section: "§5.7" }]);
  const push = configuration?.taskPushNotificationConfig;
  const violations = [
    ...judgeMessage(message),
    ...judgeBound("configuration.historyLength", configuration?.historyLength, HISTORY_LENGTH),
    ...(push === undefined || push.taskId === "" ? [] : [TASK_OF_INLINE_CONFIG]),
  ];
  if (violations.length > 0) throw invalidParams(violations);
  if (push !== undefined && card.capabilities?.pushNotifications !== true)
    throw new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED");
  assertModes(card, message, configuration?.acceptedOutputModes ?? []);
  return message;
}

/** @throws A2AError INVALID_PARAMS for a negative history length (§3.2.4). */
export function assertGettable({ historyLength }: GetTaskRequest): void {
  assertNone(judgeBound("historyLength", historyLength, HISTORY_LENGTH));
}

/** What is wrong with a request for a list, its page token aside (§3.1.4). */
export function judgeList({ pageSize, historyLength }: ListTasksRequest): Violation[] {
  return [
    ...judgeBound("pageSize", pageSize, PAGE_SIZE),
    ...judgeBound("historyLength", historyLength, HISTORY_LENGTH),
  ];
}

/** A Handler that hears only of requests that keep these rules. */
export function judging(handler: Handler, card: () => AgentCard): Handler {
  return {
    ...handler,
    async sendMessage(request, call) {
      assertSendable(request, card());
      return handler.sendMessage(request, call);
    },
    async *sendStreamingMessage(request, call) {
      assertSendable(request, card());
      yield* handler.sendStreamingMessage(request, call);
    },
    async getTask(request, call) {
      assertGettable(request);
      return handler.getTask(request, call);
    },
    async listTasks(request, call) {
      assertNone(judgeList(request));
      return handler.listTasks(request, call);
    },
    async listTaskPushNotificationConfigs(request, call) {
      assertNone(judgeConfigList(request));
      return handler.listTaskPushNotificationConfigs(request, call);
    },
  };
}

const TASK_OF_INLINE_CONFIG: Violation = {
  path: "configuration.taskPushNotificationConfig.taskId",
  rule: "RANGE",
  description: "must be empty: it is the task of the message",
  section: "§3.2.2",
};

function judgeConfigList({ pageSize }: ListTaskPushNotificationConfigsRequest): Violation[] {
  return judgeBound("pageSize", pageSize, CONFIG_PAGE_SIZE);
}

function judgeMessage({ role, referenceTaskIds }: Message): Violation[] {
  const violations: Violation[] = [];
  if (role !== Role.USER) {
    const description = "must be ROLE_USER: the caller speaks as the user";
    violations.push({ path: "message.role", rule: "ROLE", description, section: "§4.1.5" });
  }
  if (referenceTaskIds.length > MAX_REFERENCES) {
    const description = `holds at most ${MAX_REFERENCES} ids`;
    violations.push({ path: "message.referenceTaskIds", rule: "RANGE", description, section: "§3.4.3" });
  }
  return violations;
}

function assertNone(violations: readonly Violation[]): void {
  if (violations.length > 0) throw invalidParams(violations);
}
