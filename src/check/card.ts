import { decodeJson } from "../a2a/codec.js";
import { type AgentCard, AgentCardSchema } from "../a2a/types.js";
import { isObject, type UnknownObject } from "../a2a/unknown-json.js";
import { validate } from "../a2a/validate.js";
import { cardPlaces, isServedAt } from "../client/agent-card.js";
import type { Runtime } from "../runtime/runtime.js";
import { type BareResponse, exchange, isAnswered, readBytes, readJson } from "./http.js";
import type { Verdicts } from "./report.js";
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
  readonly record: Verdicts;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Fetches the card behind an address (§8.2), and judges how it comes (§8.6). `undefined` when there is none; `record` says why. */
export async function fetchCard(context: CardContext, target: URL): Promise<FoundCard | undefined> {
  const { record } = context;
  const refused: string[] = [];
  const places = cardPlaces(target);
  for (const url of places) {
    const answer = await fetchAt(context, url, {});
    if (!isAnswered(answer)) {
      refused.push(`${url}: ${told(answer)}`);
      break;
    }
    const found = await readCard(answer, url);
    if (typeof found === "string") {
      refused.push(`${url}: ${found}`);
    } else if (url !== places[0] && !isServedAt(found.card, target)) {
      refused.push(`${url}: the card of ${found.card.name}, which has no interface at ${target.href}`);
    } else {
      await judgeCard(context, found, answer);
      return found;
    }
  }
  record.fail("card.found", refused.join("; "));
  return undefined;
}

/** The card of an answer, or why it is none. */
async function readCard(answer: BareResponse, url: string): Promise<FoundCard | string> {
  const body = await readJson(answer);
  const { status } = answer.response;
  if (status !== 200) return `HTTP ${status}`;
  if (!("json" in body)) return told(body);
  const { json } = body;
  if (!isObject(json)) return "JSON that is no object";
  try {
    return { url, json, card: decodeJson(AgentCardSchema, json, { from: "peer" }) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function judgeCard(
  context: CardContext,
  { url, json }: FoundCard,
  { response, type }: BareResponse,
): Promise<void> {
  const { record } = context;
  record.pass("card.found");
  const isJson = type === "application/json" || type === "application/a2a+json";
  record.expect("card.content-type", isJson, () => type || "no content type");
  judgeContract(record, json);
  await judgeHeaders(context, url, response.headers);
}

function fetchAt({ runtime, headers, timeoutMs }: CardContext, url: string, more: Readonly<Record<string, string>>) {
  const sent = { accept: "application/json", "a2a-version": "1.0", origin: "https://example.org", ...headers, ...more };
  return exchange({ runtime }, { url, method: "GET", headers: sent, timeoutMs });
}

function judgeContract(record: Verdicts, json: UnknownObject): void {
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
  await readBytes(again);
  record.expect(
    "card.conditional",
    again.response.status === 304,
    () => `HTTP ${again.response.status} with ${excerpt(etag)}`,
  );
}
