import type { HttpRule } from "../../../gen/google/api/http_pb.js";
import type { Operation } from "../../a2a/operation.js";

/** One HTTP route of an operation, read from its `google.api.http` rule. */
export interface Route {
  readonly operation: Operation;
  /** In capitals. */
  readonly method: string;
  readonly segments: readonly Segment[];
  /** What stands behind the last colon: `/tasks/{id=*}:cancel`. */
  readonly verb: string | undefined;
  /** Whether what isn't in the path comes in the body; else in the query. */
  readonly body: boolean;
  /** Whether the path names a tenant. */
  readonly tenant: boolean;
}

/** A part of a path between two slashes: itself, or the value of a field (its proto name). */
export type Segment = { readonly literal: string } | { readonly field: string };

/** All routes of an operation. A stream that the descriptor has under GET is under POST as well, as §5.3 has it. */
export function routesOf(operation: Operation): Route[] {
  return operation.rules.flatMap((rule) => {
    const route = routeOf(operation, rule);
    return operation.streaming && route.method === "GET" ? [{ ...route, method: "POST", body: true }, route] : [route];
  });
}

function routeOf(operation: Operation, rule: HttpRule): Route {
  const { case: method, value: template } = rule.pattern;
  if (method === undefined || !template.startsWith("/"))
    throw new TypeError(`${operation.name} has an HTTP rule without a path`);
  const parsed = /^(?<path>.*?)(?::(?<verb>[^/{}:]+))?$/.exec(template)?.groups;
  const segments = (parsed?.path ?? template).slice(1).split("/").map(segmentOf);
  return {
    operation,
    method: method.toUpperCase(),
    segments,
    verb: parsed?.verb,
    body: rule.body === "*",
    tenant: segments.some((segment) => "field" in segment && segment.field === "tenant"),
  };
}

/** `{name}` and `{name=*}` are one segment; the contract has no other patterns. */
function segmentOf(text: string): Segment {
  if (!text.startsWith("{")) return { literal: text };
  const field = /^\{(\w+)(?:=\*)?\}$/.exec(text)?.[1];
  if (field === undefined) throw new TypeError(`The path pattern ${text} is not supported`);
  return { field };
}

/** What a path matches: every route of it, whatever its method, with the values that it gives to fields (still percent-encoded). */
export interface Match {
  readonly route: Route;
  readonly values: ReadonlyMap<string, string>;
}

/**
 * Finds the routes of paths. The text behind the last colon of a path is a verb: one that no route has matches nothing, and never
 * becomes part of an id. (In an id a colon is written `%3A`.)
 */
export function createRouter(routes: readonly Route[]): (path: string) => Match[] {
  return (path) => {
    const colon = path.lastIndexOf(":");
    const verb = colon > path.lastIndexOf("/") ? path.slice(colon + 1) : undefined;
    const segments = (verb === undefined ? path : path.slice(0, colon)).slice(1).split("/");
    return routes.flatMap((route) => {
      const values = route.verb === verb ? match(route.segments, segments) : undefined;
      return values === undefined ? [] : [{ route, values }];
    });
  };
}

function match(pattern: readonly Segment[], segments: readonly string[]): ReadonlyMap<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const values = new Map<string, string>();
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if ("literal" in expected) {
      if (segment !== expected.literal) return undefined;
    } else {
      if (segment === "") return undefined;
      values.set(expected.field, segment);
    }
  }
  return values;
}

/** The path of a route with these values, encoded. `undefined` for a value that no path can carry: empty, `.`, `..`, no Unicode. */
export function pathOf(route: Route, fieldValue: (field: string) => string): string | undefined {
  const segments = route.segments.map((segment) =>
    "literal" in segment ? segment.literal : encodeSegment(fieldValue(segment.field)),
  );
  if (segments.includes(undefined)) return undefined;
  return `/${segments.join("/")}${route.verb === undefined ? "" : `:${route.verb}`}`;
}

function encodeSegment(value: string): string | undefined {
  if (value === "" || value === "." || value === "..") return undefined;
  try {
    return encodeURIComponent(value);
  } catch {
    return undefined; // half a surrogate pair
  }
}
