import { A2AError } from "../a2a/errors.js";
import type { Handler } from "../a2a/handler.js";
import { cancelTask } from "./cancel-task.js";
import type { Core } from "./core.js";
import { getExtendedAgentCard } from "./extended-card.js";
import { assertGettable } from "./judge.js";
import { DEFAULT_HISTORY, taskNotFound } from "./limits.js";
import { listTasks } from "./list-tasks.js";
import { sendMessage, sendStreamingMessage } from "./send-message.js";
import { subscribeToTask } from "./streams.js";
import { viewOf } from "./view.js";

/**
 * The 11 operations over a journal, for one agent. Everything that any binding serves comes from here, except what the agent's card doesn't
 * offer: that is refused before (§3.3.4).
 */
export function createHandler(core: Core): Handler {
  const refusePush = () => Promise.reject(new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED"));
  return {
    sendMessage: (request, call) => sendMessage(core, request, call),
    sendStreamingMessage: (request, call) => sendStreamingMessage(core, request, call),
    async getTask(request, call) {
      assertGettable(request);
      const { id, historyLength } = request;
      const loaded = await core.journal.load(id, core.scopeOf(call));
      if (loaded === undefined) throw taskNotFound();
      return viewOf(loaded.task, { history: Math.min(historyLength ?? DEFAULT_HISTORY, DEFAULT_HISTORY) });
    },
    listTasks: (request, call) => listTasks(core, request, call),
    cancelTask: (request, call) => cancelTask(core, request, call),
    subscribeToTask: (request, call) => subscribeToTask(core, request, call),
    createTaskPushNotificationConfig: refusePush,
    getTaskPushNotificationConfig: refusePush,
    listTaskPushNotificationConfigs: refusePush,
    deleteTaskPushNotificationConfig: refusePush,
    getExtendedAgentCard: (_request, call) => getExtendedAgentCard(core, call),
  };
}
