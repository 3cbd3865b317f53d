import { WELL_KNOWN_CARD } from "../a2a/agent-card.js";
import { decodeJson } from "../a2a/codec.js";
import { type AgentCard, AgentCardSchema } from "../a2a/types.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { validate } from "../a2a/validate.js";
import type { Runtime } from "../runtime/runtime.js";
import { type BareResponse, exchange, isAnswered, readBytes, readJson } from "./http.js";
import type { Recorder } from "./report.js";
import { excerpt, told } from "./speaker.js";

/** A card as it was served. */
export interface FoundCard {
  /** Where it was. */
  readonly url: string;
  readonly json: UnknownObject;
  /** The same, read as forgivingly as it goes. */
  readonly card: AgentCard;
}

/** What the card is fetched with. */
export interface CardContext {
  readonly runtime: Runtime;
  readonly record: Recorder;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Fetches the card behind an address (§8.2), and judges how it comes (§8.6). `undefined` when there is none; `record` says why. */
export async function fetchCard(context: CardContext, target: URL): Promise<FoundCard | undefined> {
  const { record } = context;
  const refused: string[] = [];
  for (const url of placesOf(target)) {
    const answer = await fetchAt(context, url, {});
    if (!isAnswered(answer)) {
      refused.push(`${url}: ${told(answer)}`);
      break;
    }
    const { response, type } = answer;
    const body = await readJson(answer);
    if (response.status !== 200 || !("json" in body) || !isObject(body.json)) {
      const isJson = "json" in body && isObject(body.json);
      refused.push(
        `${url}: ${response.status !== 200 ? `HTTP ${response.status}` : isJson ? "" : "json" in body ? "no JSON object" : told(body)}`,
      );
      continue;
    }
    const { json } = body;
    const card = readCard(json);
    judgeContract(record, json);
    if (card === undefined)
      return record.fail("card.found", `${url}: a JSON object that can't be read as a card`) ?? undefined;
    record.pass("card.found");
    record.expect(
      "card.content-type",
      type === "application/json" || type === "application/a2a+json",
      () => type || "none",
    );
    await judgeHeaders(context, url, response.headers);
    return { url, json, card };
  }
  record.fail("card.found", refused.join("; "));
  return undefined;
}

function placesOf(target: URL): string[] {
  if (target.pathname.endsWith(".json")) return [target.href];
  const below = `${target.origin}${target.pathname.replace(/\/+$/, "")}${WELL_KNOWN_CARD}`;
  return [...new Set([below, `${target.origin}${WELL_KNOWN_CARD}`])];
}

function fetchAt({ runtime, headers, timeoutMs }: CardContext, url: string, more: Readonly<Record<string, string>>) {
  const sent = { accept: "application/json", "a2a-version": "1.0", origin: "https://example.org", ...headers, ...more };
  return exchange({ runtime }, { url, method: "GET", headers: sent, timeoutMs });
}

function readCard(json: UnknownObject): AgentCard | undefined {
  try {
    return decodeJson(AgentCardSchema, json, { from: "peer" });
  } catch {
    return undefined;
  }
}

function judgeContract(record: Recorder, json: UnknownObject): void {
  const violations = validate("AgentCard", json);
  for (const { path, rule, description } of violations)
    record.fail(rule === "UNKNOWN_FIELD" ? "card.unknown-fields" : "card.contract", `${path} ${description}`);
  if (!violations.some(({ rule }) => rule !== "UNKNOWN_FIELD")) record.pass("card.contract");
  if (!violations.some(({ rule }) => rule === "UNKNOWN_FIELD")) record.pass("card.unknown-fields");
}

async function judgeHeaders(context: CardContext, url: string, headers: Headers): Promise<void> {
  const { record } = context;
  const cacheControl = headers.get("cache-control") ?? "";
  record.expect(
    "card.cache-control",
    /\bmax-age\s*=\s*\d+/.test(cacheControl),
    () => cacheControl || "no Cache-Control",
  );
  const etag = headers.get("etag");
  record.expect("card.etag", etag !== null, () => "no ETag");
  record.expect("card.cors", headers.has("access-control-allow-origin"), () => "no Access-Control-Allow-Origin");
  if (etag === null) return record.skip("card.conditional", "there is no ETag to ask with");
  const again = await fetchAt(context, url, { "if-none-match": etag });
  if (!isAnswered(again)) return record.skip("card.conditional", told(again));
  await readBytes(again as BareResponse);
  record.expect(
    "card.conditional",
    again.response.status === 304,
    () => `HTTP ${again.response.status} with ${excerpt(etag)}`,
  );
}
