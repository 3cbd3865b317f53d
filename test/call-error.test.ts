import { A2AError, agent, around, serve } from "nuncio";
import { CallError, connect } from "nuncio/client";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../src/runtime/logger.js";

const refuse = around(async () => {
  throw new A2AError("QUOTA_EXHAUSTED", undefined, { metadata: { retryAfterMs: "1500" } });
});

async function start() {
  const served = agent({ name: "Busy", description: "Has had enough", async *run() {} });
  const server = await serve(served, { port: 0, journal: "memory:", logger: silentLogger, use: [refuse] });
  onTestFinished(() => server.close());
  return server;
}

async function failure(call: Promise<unknown>): Promise<CallError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CallError)) throw new Error("It wasn't refused with a CallError", { cause: error });
  return error;
}

test.each([
  ["jsonrpc", 429],
  ["http-json", 429],
  ["grpc", undefined],
] as const)("a refusal over %s says its HTTP status, if it has one, and when to come back", async (binding, status) => {
  const server = await start();
  await using peer = await connect(server.url, { bindings: [binding] });
  const { reason, ...told } = await failure(peer.send("Ada"));
  expect([reason, told.outcome, told.status, told.retryAfterMs]).toEqual([
    "QUOTA_EXHAUSTED",
    "not-sent",
    status,
    1_500,
  ]);
});

test("an agent card that isn't there is a CallError with the status of the answer", async () => {
  const server = await start();
  const { outcome, status } = await failure(connect(`${server.url}/agents/nobody`));
  expect([outcome, status]).toEqual(["not-sent", 404]);
});
