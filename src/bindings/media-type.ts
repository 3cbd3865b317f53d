import { essenceOf } from "../a2a/media-type.js";
import type { RequestHeaders } from "./binding.js";

/** The media type of HTTP+JSON (§11.1, §14.1.1). */
export const A2A_JSON = "application/a2a+json";
/** The media type of JSON-RPC, and of HTTP+JSON for whoever likes it better. */
export const JSON_TYPE = "application/json";

/** The media type of a body, in lower case and without its parameters; empty when none is given. */
export function mediaTypeOf(headers: RequestHeaders): string {
  return essenceOf(headers.get("content-type") ?? "");
}

/** Whether a body says that it is JSON: `application/json` or `application/….+json`. */
export function isJson(headers: RequestHeaders): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json$/.test(mediaTypeOf(headers));
}

/** What an answer of HTTP+JSON is written as: `application/a2a+json`, unless `Accept` likes `application/json` better. */
export function acceptedType(headers: RequestHeaders): string {
  const accept = headers.get("accept");
  if (accept === null) return A2A_JSON;
  const ranges = accept.split(",").map(readRange);
  return qualityOf(JSON_TYPE, ranges) > qualityOf(A2A_JSON, ranges) ? JSON_TYPE : A2A_JSON;
}

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

function readRange(text: string): MediaRange {
  const quality = /;\s*q\s*=\s*([\d.]+)/i.exec(text)?.[1];
  return { type: essenceOf(text), quality: quality === undefined ? 1 : Number(quality) || 0 };
}

/** The most specific range that matches decides (RFC 9110 §12.5.1). */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const patterns = [type, `${type.slice(0, type.indexOf("/"))}/*`, "*/*"];
  for (const pattern of patterns) {
    const range = ranges.find((candidate) => candidate.type === pattern);
    if (range !== undefined) return range.quality;
  }
  return 0;
}
