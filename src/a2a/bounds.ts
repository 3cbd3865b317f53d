import type { DescField } from "@bufbuild/protobuf";
import type { Violation } from "./errors.js";

/** What the specification says of a number beyond its type. */
export interface Bound {
  readonly least: number;
  /** None: as much as the type holds. */
  readonly most?: number;
  /** In words: `must be 1 to 100`. */
  readonly description: string;
  readonly section: string;
}

/** Of a page of tasks. */
export const PAGE_SIZE: Bound = { least: 1, most: 100, description: "must be 1 to 100", section: "§3.1.4" };
/** Of a page of push configurations: 0 is unset there, for the field has no presence (§3.1.9). */
export const CONFIG_PAGE_SIZE: Bound = { least: 0, most: 100, description: "must be 0 to 100", section: "§3.1.9" };
export const HISTORY_LENGTH: Bound = { least: 0, description: "must be 0 or more", section: "§3.2.4" };

/** By message and field. */
const bounds: ReadonlyMap<string, Bound> = new Map([
  ["ListTasksRequest.page_size", PAGE_SIZE],
  ["ListTaskPushNotificationConfigsRequest.page_size", CONFIG_PAGE_SIZE],
  ["ListTasksRequest.history_length", HISTORY_LENGTH],
  ["GetTaskRequest.history_length", HISTORY_LENGTH],
  ["SendMessageConfiguration.history_length", HISTORY_LENGTH],
]);

/** The bound of a field of a request, if it has one. */
export function boundOf(field: DescField): Bound | undefined {
  return bounds.get(`${field.parent.name}.${field.name}`);
}

/** What is wrong with a number at a path; nothing with none. */
export function judgeBound(path: string, value: number | undefined, bound: Bound): Violation[] {
  if (value === undefined || isWithin(value, bound)) return [];
  return [{ path, rule: "RANGE", description: bound.description, section: bound.section }];
}

/** Whether a number keeps a bound. */
export function isWithin(value: number, { least, most = Number.POSITIVE_INFINITY }: Bound): boolean {
  return value >= least && value <= most;
}
