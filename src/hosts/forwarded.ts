import proxyAddr from "@fastify/proxy-addr";
import type { AnyRequest } from "../bindings/rpc-binding.js";

/** Where callers reach this server, as a proxy that is trusted says; `undefined` if none says so. */
export type ForwardedOrigin = (request: AnyRequest) => string | undefined;

/** @param trustedProxies addresses or networks; anybody else's `X-Forwarded-*` count for nothing. */
export function createForwardedOrigin(trustedProxies: readonly string[]): ForwardedOrigin {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return ({ headers, socket }) => {
    const host = last(headers["x-forwarded-host"]);
    if (host === undefined || !isTrusted(socket.remoteAddress ?? "", 0)) return undefined;
    const scheme = last(headers["x-forwarded-proto"]) === "https" ? "https" : "http";
    const prefix = last(headers["x-forwarded-prefix"]) ?? "";
    const origin = `${scheme}://${host}${/^(\/[\w.~-]+)+$/.test(prefix) ? prefix : ""}`;
    return /^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(host) && URL.canParse(origin) ? origin : undefined;
  };
}

/** Of a list, what the nearest proxy added. */
function last(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value.join(",") : value;
  return text?.split(",").at(-1)?.trim() || undefined;
}
