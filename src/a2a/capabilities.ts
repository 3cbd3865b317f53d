import { A2AError } from "./errors.js";
import type { Handler } from "./handler.js";
import { A2AService, type AgentCapabilities } from "./types.js";

/** The operations that an agent offers only if its card says so (§4.4.3). */
export type Capabilities = Pick<AgentCapabilities, "streaming" | "pushNotifications" | "extendedAgentCard">;

/** Why an operation is refused by an agent whose card doesn't offer it (§3.3.4); `undefined`: it is offered, or always there. */
export function refusalWithout(capabilities: Capabilities | undefined, operation: keyof Handler): A2AError | undefined {
  if (A2AService.method[operation].methodKind === "server_streaming")
    return capabilities?.streaming === true
      ? undefined
      : new A2AError("UNSUPPORTED_OPERATION", "This agent doesn't stream; use SendMessage and GetTask");
  if (operation === "getExtendedAgentCard")
    return capabilities?.extendedAgentCard === true
      ? undefined
      : new A2AError("UNSUPPORTED_OPERATION", "This agent has no extended card");
  if (isOfPush(operation) && capabilities?.pushNotifications !== true)
    return new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED");
  return undefined;
}

/** Whether an operation is one of the four on push notification configs (§3.1.7–10). */
export function isOfPush(operation: keyof Handler): boolean {
  return operation.includes("PushNotificationConfig");
}
