import { anonymous, type Call, type Principal } from "../a2a/call.js";
import type { Scope } from "../journal/journal.js";

/** Who owns what a principal stores: by default the principal; a team's id shares (§13.1). */
export type OwnerOf = (principal: Principal) => string;

/** The tasks that a call may see: those of its principal's owner, within one tenant. */
export function scopeOf(tenant: string, call: Call, ownerOf: OwnerOf): Scope {
  return { tenant, owner: ownerOf(call.principal ?? anonymous) };
}

/** Who calls, as the log keeps it beside what was asked. */
export function senderOf(call: Call) {
  const { id, tenant = "", scopes = [], claims } = call.principal ?? anonymous;
  return { id, tenant, scopes: [...scopes], ...(claims === undefined ? {} : { claims }) };
}
