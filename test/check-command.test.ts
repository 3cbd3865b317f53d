import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { checkAgent } from "../src/check/check.js";
import { type SdkServer, startSdkServer } from "./interop/support/sdk-server.js";
import { nuncio, nuncioServe, type Running } from "./support/command.js";
import { startTampering } from "./support/tampering-agent.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-check-"));
let ours: Running;
let theirs: SdkServer;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {}); // the foreign server tells its refusals to the console
  ours = await nuncioServe("examples/main.ts", "--port", "0", "--journal", "memory:");
  theirs = await startSdkServer();
});
afterAll(async () => {
  await theirs?.close();
  await ours?.stop("SIGTERM");
  rmSync(folder, { recursive: true });
  vi.restoreAllMocks();
});

describe("nuncio check", () => {
  test("has nothing to say against ours, found by its name among others", async () => {
    const { code, stdout, stderr } = await nuncio("check", `${ours.url}/agents/trip`, "--strict");
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^Trip planner /);
    expect(stdout).toMatch(/\n\d{3} passed, nothing failed, \d+ not checked\n$/);
    expect(code).toBe(0);
  });

  test("tells a person what is wrong with another's, and a machine as well", async () => {
    const junit = join(folder, "report.xml");
    const { code, stdout } = await nuncio("check", theirs.url, "--binding", "jsonrpc", "--junit", junit);
    expect(code).toBe(1);
    expect(stdout).toContain(
      "\nMUST  jsonrpc  jsonrpc.method-not-found  §9.5\n  expected  An unknown method is answered with -32601\n  seen      ",
    );
    expect(stdout).toContain("HTTP+JSON 1.0  ");
    expect(stdout).toContain("not checked: not asked for");
    expect(readFileSync(junit, "utf8")).toMatch(
      /<testcase name="jsonrpc\.method-not-found §9\.5" classname="jsonrpc">\n +<failure type="MUST"/,
    );
    const json = await nuncio("check", theirs.url, "--binding", "jsonrpc", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ agent: { name: "Foreign" }, findings: expect.any(Array) });
  });

  test.each([
    [[], 0],
    [["--strict"], 1],
  ])(
    "with %j, a SHOULD that failed makes it exit with %i, and JUnit's file says the same",
    async (options, expected) => {
      const junit = join(folder, `should${expected}.xml`);
      await using served = await startTampering({ cardHeaders: { "cache-control": "no-store" } });
      const { code } = await nuncio("check", served.url.href, "--junit", junit, ...options);
      expect([code, readFileSync(junit, "utf8").includes("<failure")]).toEqual([expected, expected === 1]);
    },
  );

  test("says that little could be checked where every send was refused, and no more than that", async () => {
    const file = join(folder, "picky.mjs");
    writeFileSync(
      file,
      `import { A2AError, agent } from "nuncio";
       export default agent({
         name: "Picky",
         description: "Takes orders",
         reply: ({ text }) => {
           if (text.startsWith("order")) return "taken";
           throw new A2AError("INVALID_PARAMS", "Only orders");
         },
       });`,
    );
    const picky = await nuncioServe(file, "--port", "0", "--journal", "memory:");
    try {
      const refused = await nuncio("check", picky.url);
      expect(refused.stdout).toMatch(
        /nothing failed, \d+ not checked; no send was answered, so little could be checked: say with --text .*\n$/,
      );
      const taken = await nuncio("check", picky.url, "--text", "order 1");
      expect(taken.stdout).toMatch(/nothing failed, \d+ not checked\n$/);
      expect([refused.code, taken.code]).toEqual([0, 0]);
    } finally {
      await picky.stop("SIGTERM");
    }
  });

  test.each([
    [[], "Usage: nuncio check URL"],
    [["localhost", "--binding", "soap"], "--binding must be one of"],
    [["ftp://x"], "isn't the URL of an agent"],
    [["localhost", "--timeout", "0"], "--timeout must be a whole number"],
    [["localhost", "--header", "x"], "--header must be"],
    [["localhost", "--junit", "/no/such/folder/x.xml"], "can't be written"],
  ])("refuses %j in one line", async (args, says) => {
    const { code, stderr } = await nuncio("check", ...args);
    expect([code, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain(says);
  });

  test("finds no card where there is none, and not another agent's", async () => {
    const { code, stdout } = await nuncio("check", `${ours.url}/agents/tripp`);
    expect(code).toBe(3);
    expect(stdout).toContain("MUST  card  card.found");
  });
});

test("the faults of an @a2a-js/sdk server are found", async () => {
  const { findings } = await checkAgent(new URL(theirs.url), { text: "Ada" });
  const failed = findings.filter(({ verdict }) => verdict === "failed").map(({ where, rule }) => `${where} ${rule}`);
  expect(failed.sort()).toEqual(
    [
      ...["jsonrpc", "http-json", "grpc"].flatMap((binding) =>
        ["invalid.details", "invalid.required", "invalid.values", "list.filters", "version.patch"].map(
          (rule) => `${binding} ${rule}`,
        ),
      ),
      ...["invalid-request", "method-not-found", "parse-error"].map((rule) => `jsonrpc jsonrpc.${rule}`),
      "jsonrpc version.query",
      "http-json version.query",
      "http-json http.error-shape",
      "card card.conditional",
      "card card.cors",
      "all bindings equal.errors",
    ].sort(),
  );
});
