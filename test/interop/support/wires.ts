/** What a wire made of a SendMessageRequest, in words that all wires share. */
export interface Verdict {
  /** `undefined` when it was accepted. */
  readonly reason: string | undefined;
  readonly status: number;
  /** Paths of the fields that are wrong. */
  readonly fields: readonly string[];
  /** As ProtoJSON. */
  readonly task?: Json | undefined;
}

export type Json = Record<string, unknown>;

/** A wire that carries JSON. `send` takes the request's JSON text as it is, so that it may be anything. */
export interface JsonWire {
  readonly name: string;
  send(url: string, request: string): Promise<Verdict>;
}

const json = "application/json";
const a2aJson = "application/a2a+json";

/** Every way to send a message as JSON. */
export const jsonWires: readonly JsonWire[] = [
  { name: "JSON-RPC SendMessage", send: (url, request) => rpc(url, "SendMessage", request) },
  { name: "JSON-RPC SendStreamingMessage", send: (url, request) => rpc(url, "SendStreamingMessage", request) },
  { name: "HTTP+JSON message:send", send: (url, request) => rest(url, "/a2a/message:send", request) },
  { name: "HTTP+JSON message:stream", send: (url, request) => rest(url, "/a2a/message:stream", request) },
  { name: "Connect with JSON", send: connect },
];

async function rpc(url: string, method: string, request: string): Promise<Verdict> {
  const response = await post(
    `${url}/a2a`,
    json,
    `{"jsonrpc":"2.0","id":"i","method":"${method}","params":${request}}`,
  );
  const answer = await readOne(response);
  if (answer.jsonrpc !== "2.0") throw new Error(`No JSON-RPC answer: ${JSON.stringify(answer)}`);
  const { error, result } = answer as { error?: { code: number; data?: Json[] }; result?: Json };
  if (error === undefined) return { reason: undefined, status: response.status, fields: [], task: taskIn(result) };
  const named: Record<number, string> = {
    [-32700]: "PARSE_ERROR",
    [-32600]: "INVALID_REQUEST",
    [-32602]: "INVALID_PARAMS",
  };
  return refusal(response, error.data ?? [], named[error.code] ?? `code ${error.code}`);
}

async function rest(url: string, path: string, request: string): Promise<Verdict> {
  const response = await post(`${url}${path}`, a2aJson, request);
  const answer = await readOne(response);
  const { error } = answer as { error?: { code: number; status: string; details?: Json[] } };
  if (error === undefined) return { reason: undefined, status: response.status, fields: [], task: taskIn(answer) };
  if (error.code !== response.status) throw new Error(`HTTP ${response.status} says ${error.code}`);
  const otherwise = error.status === "INVALID_ARGUMENT" ? "INVALID_PARAMS" : error.status;
  return refusal(response, error.details ?? [], otherwise);
}

async function connect(url: string, request: string): Promise<Verdict> {
  const response = await post(`${url}/lf.a2a.v1.A2AService/SendMessage`, json, request, {
    "connect-protocol-version": "1",
  });
  const answer = await readOne(response);
  if (response.ok) return { reason: undefined, status: response.status, fields: [], task: taskIn(answer) };
  const { code, details = [] } = answer as { code: string; details?: { type: string; debug?: Json }[] };
  const shown = details.map(({ type, debug }) => ({ ...debug, "@type": `/${type}` }));
  return refusal(response, shown, code === "invalid_argument" ? "INVALID_PARAMS" : code);
}

function refusal({ status }: Response, details: readonly Json[], otherwise: string): Verdict {
  const of = (type: string) => details.find((detail) => String(detail["@type"]).endsWith(`/google.rpc.${type}`));
  const violations = (of("BadRequest")?.fieldViolations ?? []) as { field?: string }[];
  const reason = (of("ErrorInfo")?.reason as string | undefined) ?? otherwise;
  return { reason, status, fields: violations.map(({ field }) => field ?? "") };
}

function post(url: string, type: string, body: string, more: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: "POST", headers: { "content-type": type, "a2a-version": "1.0", ...more }, body });
}

/** The answer, or of a stream the first event. */
async function readOne(response: Response): Promise<Json> {
  const type = response.headers.get("content-type") ?? "";
  const text = await response.text();
  if (!/^(application\/(a2a\+)?json|text\/event-stream)\b/.test(type)) throw new Error(`An answer in ${type}: ${text}`);
  return JSON.parse(type.startsWith("text/event-stream") ? (/^data: (.*)$/m.exec(text)?.[1] ?? "") : text) as Json;
}

function taskIn(result: Json | undefined): Json | undefined {
  return result?.task as Json | undefined;
}
