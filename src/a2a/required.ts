import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.js";

/** Whether the contract marks a field REQUIRED (`google.api.field_behavior`, §5.7). */
export function isRequired(field: DescField): boolean {
  return hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/**
 * Whether a REQUIRED list needs an element. §5.7 says that all do, but §8.4.1's own card has `skills: []` and a list may find nothing:
 * so only what is said does, `message.parts` and `artifact.parts`.
 */
export function needsElement(field: DescField): boolean {
  return isRequired(field) && field.fieldKind === "list" && field.message?.name === "Part";
}

/** The REQUIRED strings of which the specification itself shows an empty one: on the last page (§3.1.4), in §8.4.1's card. */
const EMPTY_STRINGS: readonly string[] = ["ListTasksResponse.next_page_token", "AgentCard.description"];

/** Whether a REQUIRED string may be empty. */
export function mayBeEmpty(field: DescField): boolean {
  return EMPTY_STRINGS.includes(`${field.parent.name}.${field.name}`);
}

/** Whether a field holds ids, which every database and every binding must keep exactly as they are. */
export function holdsIds(field: DescField): boolean {
  return /(^|_)ids?$/.test(field.name);
}
