import type { IncomingHttpHeaders } from "node:http";
import type { RequestHeaders } from "../bindings/binding.js";
import { type AnyRequest, type AnyResponse, isHttp2 } from "../bindings/rpc-binding.js";

/** Whether nobody can get this response any more. */
export function isGone(response: AnyResponse): boolean {
  return isHttp2(response) ? response.stream.destroyed : response.destroyed;
}

/** The path and the query of a request target, as they were sent: in origin or absolute form. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const [withoutFragment = ""] = target.split("#", 1);
  const origin = /^https?:\/\/[^/?]*/i.exec(withoutFragment)?.[0] ?? "";
  const rest = withoutFragment.slice(origin.length);
  const mark = rest.indexOf("?");
  const path = mark < 0 ? rest : rest.slice(0, mark);
  return { path: path === "" ? "/" : path, query: mark < 0 ? "" : rest.slice(mark + 1) };
}

/** The headers as Node has parsed them. HTTP/2's pseudo headers aren't headers. */
export function readHeaders({ headers }: AnyRequest): RequestHeaders {
  return new ParsedHeaders(headers);
}

class ParsedHeaders implements RequestHeaders {
  readonly #headers: IncomingHttpHeaders;

  constructor(headers: IncomingHttpHeaders) {
    this.#headers = headers;
  }

  get(name: string): string | null {
    return asText(this.#headers[name.toLowerCase()]) ?? null;
  }

  *[Symbol.iterator](): Generator<[string, string], undefined> {
    for (const name of Object.keys(this.#headers))
      if (!name.startsWith(":")) yield [name, asText(this.#headers[name]) ?? ""];
  }
}

function asText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

/** The headers as they came. A name that came several times is one list; HTTP/2's pseudo headers aren't headers. Never throws. */
export function headersOf(request: AnyRequest): Headers {
  const headers = new Headers();
  const { rawHeaders } = request;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (name.startsWith(":")) continue;
    try {
      headers.append(name, value);
    } catch {
      // What the parser lets through and the standard doesn't is of no use to anybody.
    }
  }
  return headers;
}
