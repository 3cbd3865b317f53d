import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

/** The published declarations, their own dependencies, and nothing else: no Node types, no settings of ours. */
const folder = mkdtempSync(join(tmpdir(), "nuncio-types-"));
const modules = join(folder, "node_modules");
const tsc = resolve("node_modules/.bin/tsc");

const settings = {
  compilerOptions: { target: "es2023", module: "nodenext", strict: true, skipLibCheck: false, noEmit: true, types: [] },
  files: ["user.ts"],
};

beforeAll(() => {
  const own = join(modules, "nuncio");
  mkdirSync(own, { recursive: true });
  execFileSync(tsc, ["-p", "tsconfig.build.json", "--noCheck", "--emitDeclarationOnly", "--outDir", join(own, "dist")]);
  copyFileSync("package.json", join(own, "package.json"));
  for (const scope of ["@bufbuild", "@standard-schema"]) {
    mkdirSync(join(modules, scope));
  }
  for (const name of ["@bufbuild/protobuf", "@standard-schema/spec"])
    symlinkSync(resolve("node_modules", name), join(modules, name));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** What the compiler has to say of a program that uses the package. */
function complaintsAbout(source: string): string {
  writeFileSync(join(folder, "user.ts"), source);
  try {
    execFileSync(tsc, ["-p", folder, "--pretty", "false"], { encoding: "utf8", stdio: "pipe" });
    return "";
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout);
  }
}

const CLIENT = `
import { CallError, connect, type Peer, TaskState } from "nuncio/client";
import { type AgentCard, TaskSchema } from "nuncio/types";
export async function ask(url: string): Promise<string> {
  const peer: Peer = await connect(url, { fetch });
  const card: AgentCard = peer.card;
  const reply = await peer.send("Ada", { signal: AbortSignal.timeout(1_000) }).catch((error: CallError) => error.outcome);
  await peer[Symbol.asyncDispose]();
  return typeof reply === "string" ? reply : card.name + reply.text + TaskState[reply.state ?? 0] + TaskSchema.typeName;
}`;

const SERVER = `
import { agent, serve } from "nuncio";
export async function start(pem: Uint8Array): Promise<string> {
  const hello = agent({ name: "Hello", description: "Greets", async *run(task) { yield task.artifact(task.input.text); } });
  const server = await serve(hello, { port: 0, tls: { cert: pem, key: "PEM" } });
  await server[Symbol.asyncDispose]();
  return server.url;
}`;

test.each([
  ["a page that calls", CLIENT],
  ["an agent", SERVER],
])(
  "%s is compiled with the package's own declarations alone, every one of them checked",
  (_what, source) => {
    expect(complaintsAbout(source)).toBe("");
  },
  30_000,
);

test("what is wrong is found", () => {
  expect(complaintsAbout('import { connect } from "nuncio/client";\nconnect(7);')).toMatch(
    /user\.ts\(2,9\): error TS2345/,
  );
});
