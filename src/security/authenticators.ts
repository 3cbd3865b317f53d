import type { AuthRequest } from "../a2a/auth-request.js";
import { anonymous, type Principal } from "../a2a/call.js";
import { A2AError } from "../a2a/errors.js";
import type { SecuritySchemeJson } from "../a2a/types.js";
import type { Logger } from "../runtime/logger.js";

/** One way to show who is asking. Its key in `auth` is its name in the card's `securitySchemes`; any of them will do. */
export interface Authenticator<R = unknown> {
  readonly type: "custom";
  /** As the card declares it (§4.5.1). */
  readonly scheme: SecuritySchemeJson;
  /** `undefined`: nothing of this kind in the request; a thrown A2AError refuses it. */
  authenticate(request: AuthRequest<R>): Principal | undefined | Promise<Principal | undefined>;
}

/** By the name of their scheme. */
export type Authenticators<R = unknown> = Readonly<Record<string, Authenticator<R>>>;

/**
 * Asks each authenticator in turn; without any, everybody is the anonymous principal. An authenticator that fails denies. Each refusal is
 * one warning in the log (§13.4), which says where the request came from and went, and nothing else of it.
 * @throws A2AError UNAUTHENTICATED when none knows the caller.
 */
export function createAuthenticate<R>(
  authenticators: Authenticators<R> | undefined,
  logger: Logger,
): (request: AuthRequest<R>) => Promise<Principal> {
  const all = Object.entries(authenticators ?? {});
  if (all.length === 0) return async () => anonymous;
  return async (request) => {
    const { remoteAddress, url } = request;
    for (const [scheme, one] of all) {
      try {
        const principal = await one.authenticate(request);
        if (principal !== undefined) return principal;
      } catch (thrown) {
        const refusal =
          thrown instanceof A2AError ? thrown : new A2AError("UNAUTHENTICATED", undefined, { cause: thrown });
        logger.warn({ remoteAddress, path: url.pathname, reason: refusal.reason, scheme }, REFUSED);
        throw refusal;
      }
    }
    logger.warn({ remoteAddress, path: url.pathname, reason: "UNAUTHENTICATED" }, REFUSED);
    throw new A2AError("UNAUTHENTICATED");
  };
}

const REFUSED = "A caller was not let in";

/** Values of `WWW-Authenticate` for a 401 (RFC 9110 §11.6.1). */
export function challengesOf(authenticators: Authenticators<never> | undefined): readonly string[] {
  const schemes = Object.values(authenticators ?? {}).map(({ scheme }) => schemeName(scheme));
  return [...new Set(schemes)].map((name) => `${name} realm="a2a"`);
}

function schemeName(scheme: SecuritySchemeJson): string {
  if (scheme.httpAuthSecurityScheme !== undefined) return scheme.httpAuthSecurityScheme.scheme ?? "Bearer";
  if (scheme.apiKeySecurityScheme !== undefined) return "ApiKey";
  if (scheme.mtlsSecurityScheme !== undefined) return "Mutual";
  return "Bearer";
}
