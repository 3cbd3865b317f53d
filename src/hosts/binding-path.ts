import type { WireBinding } from "../bindings/binding.js";

/** The two JSON bindings on their one base path. */
export interface MountedBindings {
  readonly jsonRpc?: WireBinding | undefined;
  readonly httpJson?: WireBinding | undefined;
  /** JSON-RPC at it, HTTP+JSON below it. */
  readonly path: string;
}

/** The base path without a slash at its end; empty for the root. */
export function basePathOf({ path }: MountedBindings): string {
  return path.replace(/\/+$/, "");
}

/** Whose path it is, and what is left of it below the base. JSON-RPC has the base itself, with or without a slash. */
export function locate(
  mounted: MountedBindings,
  path: string,
): { readonly binding: WireBinding; readonly path: string } | undefined {
  const base = basePathOf(mounted);
  const isBase = path === base || path === `${base}/`;
  const binding = isBase ? mounted.jsonRpc : path.startsWith(`${base}/`) ? mounted.httpJson : undefined;
  return binding === undefined ? undefined : { binding, path: path.slice(base.length) || "/" };
}
