import { invalidParams } from "../a2a/errors.js";
import type { Head, ListQuery } from "../journal/journal.js";

type Filter = Pick<ListQuery, "contextId" | "state" | "statusAfter">;

/** A page token: the position of a page's last task, bound to the filters of the list (§3.1.4). It grants nothing. */
export function writePageToken({ statusAt, taskId }: Head, filter: Filter): string {
  return Buffer.from(JSON.stringify([statusAt, taskId, stamp(filter)])).toString("base64url");
}

/** @throws A2AError INVALID_PARAMS for what isn't a token of this list. */
export function parsePageToken(token: string, filter: Filter): { statusAt: number; taskId: string } {
  const [statusAt, taskId, bound] = parts(token);
  if (
    typeof statusAt === "number" &&
    Number.isSafeInteger(statusAt) &&
    typeof taskId === "string" &&
    bound === stamp(filter)
  )
    return { statusAt, taskId };
  throw invalidParams([
    {
      path: "pageToken",
      rule: "PAGE_TOKEN",
      description: "is not a page token of this list; begin again without one, or keep the filters",
      section: "§3.1.4",
    },
  ]);
}

function parts(token: string): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}

function stamp({ contextId, state, statusAfter }: Filter): string {
  return JSON.stringify([contextId ?? null, state ?? null, statusAfter ?? null]);
}
