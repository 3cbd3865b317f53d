import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type Agent, agent, type Server, serve } from "nuncio";
import { parseEvents } from "../../src/bindings/sse.js";
import { quiet } from "./small-agents.js";

export type Json = Record<string, unknown>;

/** A call of JSON-RPC on its way through. */
export interface Passing {
  readonly method: string;
  readonly params: Json;
  /** `A2A-Version`, or nothing. */
  readonly version: string;
}

/** What is changed on the way. Whatever is left out stays as it was. */
export interface Tampering {
  card?(card: Json): unknown;
  cardHeaders?: Readonly<Record<string, string>>;
  /** The JSON-RPC answer to what isn't answered with a stream. */
  answer?: ((answer: Json, passing: Passing) => unknown) | undefined;
  /** What a result of a stream becomes. */
  event?(result: Json, index: number, passing: Passing): Json[];
  headers?: Readonly<Record<string, string>>;
}

/** An agent that answers at once twice, and then goes on until it is canceled: what one check needs. */
const countingAgent = () => {
  let runs = 0;
  return agent({
    name: "Counting",
    description: "Answers twice, then works",
    async *run(task) {
      yield task.working("on it");
      yield task.artifact(["a", "b"]);
      if (++runs > 2) await once(task.signal, "abort");
      task.signal.throwIfAborted();
      return task.completed("done");
    },
  });
};

/** Our own agent behind a server that changes what it says over JSON-RPC: one fault at a time, the rest exact. */
export async function startTampering(
  tampering: Tampering,
  served: Agent = countingAgent(),
): Promise<{ readonly url: URL } & AsyncDisposable> {
  const behind: Server = await serve(served, { ...quiet, drainMs: 100, cancelGraceMs: 100 });
  const http = createServer(async (request, response) => {
    const isCard = request.method === "GET";
    const answer = await forward(request, behind.url);
    const more = isCard ? tampering.cardHeaders : tampering.headers;
    response.writeHead(answer.response.status, { ...answer.headers, ...more });
    if (answer.headers["content-type"] === "text/event-stream") {
      for await (const event of tamperEvents(answer, tampering)) response.write(event);
      response.end();
      return;
    }
    const text = await answer.response.text();
    response.end(isCard ? tamperCard(text, tampering, url.href) : tamper(text, answer.passing, tampering));
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`);
  return {
    url,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
      await behind.close();
    },
  };
}

interface Answer {
  readonly response: Response;
  readonly headers: Readonly<Record<string, string>>;
  readonly passing: Passing;
}

async function forward(request: IncomingMessage, to: string): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(
      ([name]) => !/^(host|connection|content-length|transfer-encoding)$/.test(name),
    ),
  ) as Record<string, string>;
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const at = request.method === "GET" ? path : "/a2a";
  const response = await fetch(`${to}${at}${query === "" ? "" : `?${query}`}`, {
    method: request.method ?? "",
    headers,
    ...(body.length > 0 && { body }),
  });
  const kept = [...response.headers].filter(
    ([name]) => !/^(connection|content-length|transfer-encoding|keep-alive|date)$/.test(name),
  );
  const { method = "", params = {} } = parsed(body.toString()) as Partial<Passing>;
  const passing = { method, params, version: headers["a2a-version"] ?? "" };
  return { response, headers: Object.fromEntries(kept), passing };
}

function tamperCard(text: string, { card = (same) => same }: Tampering, url: string): string {
  const json = parsed(text);
  if (json.name === undefined) return text;
  json.supportedInterfaces = [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
  return JSON.stringify(card(json));
}

function tamper(text: string, passing: Passing, { answer }: Tampering): string {
  const changed = answer?.(parsed(text), passing) ?? text;
  return typeof changed === "string" ? changed : JSON.stringify(changed);
}

async function* tamperEvents({ response, passing }: Answer, { event }: Tampering): AsyncGenerator<string> {
  if (response.body === null) return;
  let index = 0;
  for await (const { data } of parseEvents(response.body, 1_000_000)) {
    const envelope = parsed(data);
    const results = event?.(envelope.result as Json, index++, passing) ?? [envelope.result];
    for (const result of results) yield `data: ${JSON.stringify({ ...envelope, result })}\n\n`;
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}
