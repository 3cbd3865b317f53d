import { A2AError } from "../a2a/errors.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Deepest nesting of JSON that is read, unless options say otherwise. What a message carries is judged more strictly, by the codec. */
export const DEFAULT_MAX_DEPTH = 100;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads JSON from its bytes. `__proto__` and the like are keys as any other.
 *
 * @throws A2AError PARSE_ERROR: no UTF-8, no JSON, or nested deeper than `maxDepth`, which is judged before anything is built.
 */
export function parseJson(bytes: Uint8Array, maxDepth: number): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new A2AError("PARSE_ERROR", undefined, { cause });
  }
  return parseJsonText(text, maxDepth);
}

/** The same, of a text. @throws A2AError PARSE_ERROR. */
export function parseJsonText(text: string, maxDepth: number): unknown {
  if (isDeeperThan(text, maxDepth)) {
    throw new A2AError("PARSE_ERROR", `Invalid JSON payload: nested deeper than ${maxDepth} levels`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new A2AError("PARSE_ERROR", undefined, { cause });
  }
}

function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) {
      inString = true;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > maxDepth) return true;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
    }
  }
  return false;
}
