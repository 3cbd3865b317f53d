import { A2AError } from "../a2a/errors.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Reads JSON from its bytes. `__proto__` and the like are keys as any other.
 *
 * @throws A2AError PARSE_ERROR: no UTF-8, no JSON, or nested deeper than `maxDepth`, which is judged before anything is built.
 */
export function parseJson(bytes: Uint8Array, maxDepth: number): unknown {
  if (isDeeperThan(bytes, maxDepth))
    throw new A2AError("PARSE_ERROR", `Invalid JSON payload: nested deeper than ${maxDepth} levels`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new A2AError("PARSE_ERROR", undefined, { cause });
  }
}

/** Whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isDeeperThan(bytes: Uint8Array, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > maxDepth) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
    }
  }
  return false;
}
