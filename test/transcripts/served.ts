import { A2AError, agent, extension, type Server, serve } from "../../src/index.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { type Runtime, systemRuntime } from "../../src/runtime/runtime.js";
import { scripted } from "../support/scripted-agent.js";
import { byHeader, extended } from "../support/serving.js";

/** A clock that stands, and ids that count. Timers are real. */
export interface Stage extends Runtime {
  /** Begins a scene: a second later than the one before, with ids of its own. */
  scene(number: number): void;
}

export function createStage(): Stage {
  let scene = 0;
  let ids = 0;
  return {
    ...systemRuntime,
    now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) + scene * 1_000,
    id: () => `01900000-0000-7000-8${String(scene).padStart(3, "0")}-${String(++ids).padStart(12, "0")}`,
    scene(number) {
      scene = number;
      ids = 0;
    },
  };
}

/** An agent whose operations are written by hand: push configs, and any refusal by the name of its reason. */
const byHand = agent({
  name: "ByHand",
  description: "Answers what it is asked for",
  handler: {
    getTask: async ({ id }) => {
      if (id === "unforeseen") throw new Error("secret: postgres://u:p@h");
      throw new A2AError(id, undefined, id === "QUOTA_EXHAUSTED" ? { metadata: { retryAfterMs: "1500" } } : {});
    },
    async *sendStreamingMessage({ message }) {
      yield { message: { messageId: `re-${message?.messageId}`, role: "ROLE_AGENT", parts: [{ text: "by hand" }] } };
    },
    async *subscribeToTask({ id }) {
      yield { task: { id, contextId: "c", status: { state: "TASK_STATE_WORKING" } } };
      throw new A2AError("INVALID_AGENT_RESPONSE");
    },
    createTaskPushNotificationConfig: async (config) => ({ ...config, id: config.id === "" ? "made" : config.id }),
    getTaskPushNotificationConfig: async ({ id, taskId }) => ({ id, taskId, url: "https://hook.example/" }),
    listTaskPushNotificationConfigs: async ({ taskId }) => ({
      configs: [{ id: "made", taskId, url: "https://hook.example/" }],
    }),
    deleteTaskPushNotificationConfig: async () => ({}),
  },
});

const strict = agent({
  name: "Strict",
  description: "Requires an extension and doesn't stream",
  capabilities: { streaming: false },
  extensions: [extension({ uri: "https://x.example/strict/v1", description: "Must be there", required: true })],
  reply: ({ text }) => text,
});

/** Who is on the stage. */
export interface Cast {
  readonly scripted: Server;
  readonly byHand: Server;
  readonly strict: Server;
  close(): Promise<void>;
}

export async function startCast(runtime: Runtime): Promise<Cast> {
  const common = {
    port: 0,
    journal: "memory:",
    logger: silentLogger,
    runtime,
    publicUrl: "https://agent.example",
    cancelGraceMs: 200,
    drainMs: 500,
    limits: { bodyBytes: 4_096 },
  };
  const [one, two, three] = await Promise.all([
    serve(scripted, { ...common, auth: byHeader, extendedCard: extended }),
    serve(byHand, common),
    serve(strict, common),
  ]);
  const close = async () => {
    await Promise.all([one.close(), two.close(), three.close()]);
  };
  return { scripted: one, byHand: two, strict: three, close };
}
