import { errorTable } from "../a2a/errors.js";
import type { RuleId } from "./rules.js";
import type { GrpcSpeaker } from "./speak-grpc.js";
import type { HttpJsonSpeaker } from "./speak-http-json.js";
import type { JsonRpcSpeaker } from "./speak-jsonrpc.js";
import { type Outcome, told } from "./speaker.js";
import { call, expectRefusal, judge, type Subject } from "./subject.js";

/** Harmless, and understood by every agent. */
const ASK = { pageSize: 1 };

/** Version negotiation (§3.6). What the agent says to a plain 1.0 is what it has to say to the other ways of asking for it. */
export async function probeVersions(subject: Subject): Promise<void> {
  const { record, speaker } = subject;
  const ask = (version: string, query?: string) =>
    call(subject, "listTasks", ASK, { version, query, isUnjudged: true });
  const plain = await ask("1.0");
  const isServed = (outcome: Outcome) =>
    outcome.case === "error" && plain.case === "error"
      ? outcome.error.code === plain.error.code && outcome.error.reason === plain.error.reason
      : outcome.case === "result";
  expectRefusal(subject, "version.unsupported", await ask("99.0"), ["VERSION_NOT_SUPPORTED"], "A2A-Version: 99.0");
  const patched = await ask("1.0.99");
  judge(record, "version.patch", patched, isServed(patched), () => `A2A-Version: 1.0.99: ${told(patched)}`);
  if (speaker.binding !== "jsonrpc" && speaker.binding !== "http-json")
    return record.skip("version.absent", "the name of the service says the version");
  const absent = await ask("");
  judge(record, "version.absent", absent, !isServed(absent), () => `without A2A-Version: ${told(absent)}`);
  const query = await ask("", "A2A-Version=1.0");
  judge(record, "version.query", query, isServed(query), () => `?A2A-Version=1.0: ${told(query)}`);
}

/** What is no request of JSON-RPC (§9.5). */
export async function probeJsonRpc({ record }: Subject, speaker: JsonRpcSpeaker): Promise<void> {
  const expect = async (rule: RuleId, reason: keyof typeof errorTable, body: string, id: unknown = null) => {
    const outcome = await speaker.post(body, id);
    expectCode(record, rule, outcome, errorTable[reason].jsonRpc, body);
  };
  await expect("jsonrpc.parse-error", "PARSE_ERROR", '{"jsonrpc":"2.0","id":1,"method":');
  await expect("jsonrpc.parse-error", "PARSE_ERROR", "");
  await expect("jsonrpc.invalid-request", "INVALID_REQUEST", "[]");
  await expect("jsonrpc.invalid-request", "INVALID_REQUEST", '"a string"');
  await expect("jsonrpc.invalid-request", "INVALID_REQUEST", '{"jsonrpc":"1.0","id":"v","method":"ListTasks"}', "v");
  await expect("jsonrpc.invalid-request", "INVALID_REQUEST", '{"jsonrpc":"2.0","id":"m"}', "m");
  await expect("jsonrpc.invalid-request", "INVALID_REQUEST", '{"jsonrpc":"2.0","id":"n","method":1}', "n");
  await expect("jsonrpc.method-not-found", "METHOD_NOT_FOUND", '{"jsonrpc":"2.0","id":7,"method":"NoSuchMethod"}', 7);
  await expect(
    "jsonrpc.invalid-params",
    "INVALID_PARAMS",
    '{"jsonrpc":"2.0","id":"p","method":"GetTask","params":[]}',
    "p",
  );
  await expect(
    "invalid.values",
    "INVALID_PARAMS",
    '{"jsonrpc":"2.0","id":"q","method":"GetTask","params":{"id":7}}',
    "q",
  );
}

/** What is no request of HTTP+JSON (§11.6). */
export async function probeHttpJson({ record }: Subject, speaker: HttpJsonSpeaker): Promise<void> {
  expectCode(
    record,
    "http.parse-error",
    await speaker.send("POST", "/message:send", '{"message":'),
    400,
    "half a JSON",
  );
  expectCode(record, "http.not-found", await speaker.send("GET", "/no-such-path"), 404, "GET /no-such-path");
  const wrong = await speaker.send("DELETE", "/tasks");
  const isRefused = wrong.case === "error" && [404, 405, 501].includes(wrong.error.code);
  judge(record, "http.not-found", wrong, isRefused, () => `DELETE /tasks: ${told(wrong)}`);
}

/** What is no call of the service (§10.6). */
export async function probeGrpc({ record }: Subject, speaker: GrpcSpeaker): Promise<void> {
  const unknown = await speaker.send("NoSuchMethod", new Uint8Array());
  expectCode(record, "grpc.unimplemented", unknown, errorTable.METHOD_NOT_FOUND.grpc, "NoSuchMethod");
  const garbage = await speaker.send("GetTask", new Uint8Array([0xff, 0xff, 0xff, 0xff]));
  judge(record, "grpc.garbage", garbage, garbage.case === "error");
}

function expectCode(record: Subject["record"], rule: RuleId, outcome: Outcome, code: number, what: string): void {
  const isIt = outcome.case === "error" && outcome.error.code === code;
  judge(record, rule, outcome, isIt, () => `${what === "" ? "an empty body" : what}: ${told(outcome)}, not ${code}`);
}
