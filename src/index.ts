/** `nuncio`: write an agent, serve it. `serve` loads its host and its database driver when it is called. */
export { around } from "./a2a/around.js";
export type { AuthRequest } from "./a2a/auth-request.js";
export type { Call, Principal } from "./a2a/call.js";
export {
  type ArtifactFacts,
  type Content,
  type ContentView,
  contentOf,
  type MessageFacts,
  type MessageView,
  type PartInput,
} from "./a2a/content.js";
export { A2AError, type A2AErrorOptions, type Reason, type Violation } from "./a2a/errors.js";
export type { Decorator, Handler, HandlerImplementation } from "./a2a/handler.js";
export {
  type AgentCard,
  type Artifact,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  TaskState,
} from "./a2a/types.js";
export { type MessageName, type ValidateOptions, validate } from "./a2a/validate.js";
export {
  type Agent,
  type AgentDefinition,
  agent,
  type PlainSkill,
  type Run,
  type Skill,
  type SkillDefinition,
  type SkillFacts,
  skill,
} from "./agent/agent.js";
export { type Extension, extension } from "./agent/extension.js";
export type { Schema } from "./agent/schema.js";
export type { Ending, InputView, StreamContext, TaskContext, Update, Updates } from "./agent/task-context.js";
export type { Journal } from "./journal/journal.js";
export type { Logger } from "./runtime/logger.js";
export type { Authenticator, Authenticators } from "./security/authenticators.js";
export { serve } from "./serve.js";
export type { ExtendedCardOption, Limits, Served, ServeOptions, Server } from "./serve-options.js";
