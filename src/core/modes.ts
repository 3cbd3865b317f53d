import { A2AError } from "../a2a/errors.js";
import { essenceOf } from "../a2a/media-type.js";
import type { AgentCard, Message, Part } from "../a2a/types.js";

/**
 * Checks the file parts of a message and the modes that its caller accepts against the card (§3.1.1). Text and data pass: their media
 * type is a label.
 * @throws A2AError CONTENT_TYPE_NOT_SUPPORTED.
 */
export function assertModes(card: AgentCard, message: Message, acceptedOutputModes: readonly string[]): void {
  if (acceptedOutputModes.length === 0 && !message.parts.some(isFile)) return;
  const inputs = [...card.defaultInputModes, ...card.skills.flatMap(({ inputModes }) => inputModes)];
  for (const [index, part] of message.parts.entries()) {
    if (!isFile(part) || part.mediaType === "" || inputs.some((mode) => matches(mode, part.mediaType))) continue;
    throw new A2AError(
      "CONTENT_TYPE_NOT_SUPPORTED",
      `message.parts[${index}]: this agent doesn't take ${part.mediaType}; it takes ${list(inputs)}`,
    );
  }
  const outputs = [...card.defaultOutputModes, ...card.skills.flatMap(({ outputModes }) => outputModes)];
  if (
    acceptedOutputModes.length === 0 ||
    acceptedOutputModes.some((wanted) => outputs.some((mode) => matches(mode, wanted) || matches(wanted, mode)))
  )
    return;
  throw new A2AError(
    "CONTENT_TYPE_NOT_SUPPORTED",
    `configuration.acceptedOutputModes: this agent gives ${list(outputs)}`,
  );
}

function isFile({ content }: Part): boolean {
  return content.case === "raw" || content.case === "url";
}

/** A range such as `text/*` matches, parameters are ignored, and case does not count. */
function matches(pattern: string, mediaType: string): boolean {
  const [wanted, given] = [essenceOf(pattern), essenceOf(mediaType)];
  if (wanted === "*/*" || wanted === given) return true;
  return wanted.endsWith("/*") && given.startsWith(wanted.slice(0, -1));
}

function list(modes: readonly string[]): string {
  return [...new Set(modes)].join(", ");
}
