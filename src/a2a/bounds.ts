import type { DescField } from "@bufbuild/protobuf";

/** What the specification says of a number beyond its type. */
export interface Bound {
  readonly least: number;
  /** None: as much as the type holds. */
  readonly most?: number;
  /** In words: `must be 1 to 100`. */
  readonly description: string;
  readonly section: string;
}

const pageSize = (least: 0 | 1): Bound => ({
  least,
  most: 100,
  description: `must be ${least} to 100`,
  section: "§3.1.4",
});
const historyLength: Bound = { least: 0, description: "must be 0 or more", section: "§3.2.4" };

/** By message and field. A page size of 0 is unset where the field has no presence (§3.1.9). */
const bounds: ReadonlyMap<string, Bound> = new Map([
  ["ListTasksRequest.page_size", pageSize(1)],
  ["ListTaskPushNotificationConfigsRequest.page_size", pageSize(0)],
  ["ListTasksRequest.history_length", historyLength],
  ["GetTaskRequest.history_length", historyLength],
  ["SendMessageConfiguration.history_length", historyLength],
]);

/** The bound of a field of a request, if it has one. */
export function boundOf(field: DescField): Bound | undefined {
  return bounds.get(`${field.parent.name}.${field.name}`);
}

/** Whether a number keeps a bound. */
export function isWithin(value: number, { least, most = Number.POSITIVE_INFINITY }: Bound): boolean {
  return value >= least && value <= most;
}
