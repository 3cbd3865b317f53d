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
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MAX_REFERENCES } from "./limits.js";
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
    ...judgeHistoryLength("configuration.historyLength", configuration?.historyLength),
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
  assertNone(judgeHistoryLength("historyLength", historyLength));
}

/** What is wrong with a request for a list, its page token aside (§3.1.4). */
export function judgeList({ pageSize = DEFAULT_PAGE_SIZE, historyLength }: ListTasksRequest): Violation[] {
  return [...judgePageSize(pageSize, 1), ...judgeHistoryLength("historyLength", historyLength)];
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

/** 0 is unset there: the field isn't optional (§3.1.9). */
function judgeConfigList({ pageSize }: ListTaskPushNotificationConfigsRequest): Violation[] {
  return judgePageSize(pageSize, 0);
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

function judgeHistoryLength(path: string, length: number | undefined): Violation[] {
  if (length === undefined || length >= 0) return [];
  return [{ path, rule: "RANGE", description: "must be 0 or more", section: "§3.2.4" }];
}

function judgePageSize(pageSize: number, least: 0 | 1): Violation[] {
  if (pageSize >= least && pageSize <= MAX_PAGE_SIZE) return [];
  const description = `must be ${least} to ${MAX_PAGE_SIZE}`;
  return [{ path: "pageSize", rule: "RANGE", description, section: "§3.1.4" }];
}

function assertNone(violations: readonly Violation[]): void {
  if (violations.length > 0) throw invalidParams(violations);
}
