import type { Head, ListQuery } from "../journal/journal.js";

type Filter = Pick<ListQuery, "contextId" | "state" | "statusAfter">;

/** A page token: the position of a page's last task, bound to the filters of the list (§3.1.4). It grants nothing. */
export function writePageToken({ statusAt, taskId }: Head, filter: Filter): string {
  return Buffer.from(JSON.stringify([statusAt, taskId, stamp(filter)])).toString("base64url");
}

/** Where a page begins; `"foreign"` for what isn't a token of this list. */
export function parsePageToken(token: string, filter: Filter): { statusAt: number; taskId: string } | "foreign" {
  const [statusAt, taskId, bound] = parts(token);
  const isOurs =
    typeof statusAt === "number" &&
    Number.isSafeInteger(statusAt) &&
    typeof taskId === "string" &&
    bound === stamp(filter);
  return isOurs ? { statusAt, taskId } : "foreign";
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
