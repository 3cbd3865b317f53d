import { A2AError } from "../a2a/errors.js";
import type { Handler } from "../a2a/handler.js";
import { cancelTask } from "./cancel-task.js";
import type { Core } from "./core.js";
import { getExtendedAgentCard } from "./extended-card.js";
import { assertHistoryLength, DEFAULT_HISTORY, taskNotFound } from "./limits.js";
import { listTasks } from "./list-tasks.js";
import { sendMessage, sendStreamingMessage } from "./send-message.js";
import { subscribeToTask } from "./streams.js";
import { viewOf } from "./view.js";

/** The 11 operations over a journal, for one agent. Everything that any binding serves comes from here. */
export function createHandler(core: Core): Handler {
  const assertStreams = () => {
    if (core.responder.card().capabilities?.streaming !== true)
      throw new A2AError("UNSUPPORTED_OPERATION", "This agent doesn't stream; use SendMessage and GetTask");
  };
  const refusePush = () => Promise.reject(new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED"));
  return {
    sendMessage: (request, call) => sendMessage(core, request, call),
    async *sendStreamingMessage(request, call) {
      assertStreams();
      yield* sendStreamingMessage(core, request, call);
    },
    async getTask({ id, historyLength }, call) {
      assertHistoryLength("historyLength", historyLength);
      const loaded = await core.journal.load(id, core.scopeOf(call));
      if (loaded === undefined) throw taskNotFound();
      return viewOf(loaded.task, { history: Math.min(historyLength ?? DEFAULT_HISTORY, DEFAULT_HISTORY) });
    },
    listTasks: (request, call) => listTasks(core, request, call),
    cancelTask: (request, call) => cancelTask(core, request, call),
    async *subscribeToTask(request, call) {
      assertStreams();
      yield* subscribeToTask(core, request, call);
    },
    createTaskPushNotificationConfig: refusePush,
    getTaskPushNotificationConfig: refusePush,
    listTaskPushNotificationConfigs: refusePush,
    deleteTaskPushNotificationConfig: refusePush,
    getExtendedAgentCard: (_request, call) => getExtendedAgentCard(core, call),
  };
}
