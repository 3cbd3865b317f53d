import type { Call } from "../a2a/call.js";
import { A2AError, invalidParams } from "../a2a/errors.js";
import type { ProtocolVersion } from "../a2a/protocol-version.js";
import type { RequestHeaders } from "./binding.js";

/** Service parameters as HTTP headers and as metadata (§3.2.6), in lower case. */
export const VERSION_HEADER = "a2a-version";
export const EXTENSIONS_HEADER = "a2a-extensions";
/** As 0.3 spelled it; its clients and theirs still do. */
const OLD_EXTENSIONS_HEADER = "x-a2a-extensions";
const RESUME_HEADER = "last-event-id";

/** The service parameters of a request (§3.2.6), read. */
export interface ServiceParameters {
  /** URIs that the caller activates, in the order in which they came, each once. */
  readonly extensions: readonly string[];
  /** Resume after this position. */
  readonly after: string | undefined;
  /** All of them as they came, names in lower case. */
  readonly all: Readonly<Record<string, string>>;
}

/** Reads what goes beside the request: `A2A-*`, and `Last-Event-ID`. A header that came several times counts as one list. */
export function readServiceParameters(headers: RequestHeaders): ServiceParameters {
  const all: Record<string, string> = {};
  for (const [name, value] of headers) if (name.startsWith("a2a-")) all[name] = value;
  const asked = [...listOf(headers.get(EXTENSIONS_HEADER)), ...listOf(headers.get(OLD_EXTENSIONS_HEADER))];
  return { extensions: distinct(asked), after: headers.get(RESUME_HEADER) || undefined, all };
}

function distinct(list: readonly string[]): readonly string[] {
  return list.length < 2 ? list : [...new Set(list)];
}

/** Writes what goes beside a request: as HTTP headers, or as metadata of gRPC (§10.2). */
export function writeServiceParameters(
  { parameters = {}, extensions = [], after }: Call,
  versionId: string,
): Record<string, string> {
  return {
    ...parameters,
    [VERSION_HEADER]: versionId,
    ...(extensions.length > 0 && { [EXTENSIONS_HEADER]: extensions.join(",") }),
    ...(after !== undefined && { [RESUME_HEADER]: after }),
  };
}

/**
 * The protocol version that a request asks for (§3.6). Only Major.Minor counts, and absent or empty means 0.3.
 *
 * @throws A2AError INVALID_PARAMS if header and query parameter contradict each other; VERSION_NOT_SUPPORTED.
 */
export function negotiateVersion(
  headers: RequestHeaders,
  query: URLSearchParams,
  versions: readonly ProtocolVersion[],
): ProtocolVersion {
  const asIs = query.size === 0 ? headers.get(VERSION_HEADER) : null;
  const plain = versions.find((one) => one.id === asIs);
  if (plain !== undefined) return plain;
  const asked = [...listOf(headers.get(VERSION_HEADER)), ...versionsOf(query)];
  const wanted = distinct(asked.map(majorMinor));
  if (wanted.length > 1) {
    const description = `says ${wanted.join(" and ")}; one request has one version`;
    throw invalidParams([{ path: "A2A-Version", rule: "CONTRADICTION", description, section: "§3.6.1" }]);
  }
  const [id = "0.3"] = wanted;
  const version = versions.find((one) => one.id === id);
  if (version !== undefined) return version;

  const supported = versions.map(({ id }) => id);
  const send = `send the header A2A-Version: ${supported[0] ?? "1.0"}`;
  const message =
    wanted.length === 0
      ? `No A2A-Version means 0.3, which isn't supported here; ${send}`
      : `A2A version ${id} is not supported; supported: ${supported.join(", ")}`;
  throw new A2AError("VERSION_NOT_SUPPORTED", message, { metadata: { supportedVersions: supported.join(",") } });
}

/** Header names don't care about case, so the parameter of the same name doesn't either. */
function versionsOf(query: URLSearchParams): string[] {
  return [...query].filter(([name]) => name.toLowerCase() === VERSION_HEADER).flatMap(([, value]) => listOf(value));
}

function majorMinor(version: string): string {
  return /^(\d+\.\d+)\.\d+$/.exec(version)?.[1] ?? version;
}

function listOf(value: string | null): string[] {
  if (value === null || value === "") return [];
  return value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
