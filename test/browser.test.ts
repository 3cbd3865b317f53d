import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { agent, serve } from "nuncio";
import { build } from "vite";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync("node_modules/.browser-"); // below the modules that it needs
afterAll(() => rmSync(folder, { recursive: true }));

const WEB = [
  "fetch",
  "Headers",
  "Request",
  "Response",
  "URL",
  "URLSearchParams",
  "TextEncoder",
  "TextDecoder",
  "crypto",
];
const ALSO_WEB = [
  "AbortController",
  "AbortSignal",
  "DOMException",
  "setTimeout",
  "clearTimeout",
  "atob",
  "btoa",
  "console",
];

const PAGE = `
import { connect } from "nuncio/client";
globalThis.page = async (url) => {
  const said = [];
  for (const binding of ["jsonrpc", "http-json"]) {
    const peer = await connect(url, { bindings: [binding] });
    said.push((await peer.send("Ada")).text);
    for await (const event of peer.stream("Bob")) said.push(event.payload.case);
  }
  said.push(await connect(url, { bindings: ["grpc"] }).catch((error) => error.message));
  return said;
};`;

test("the client is bundled for a browser, and calls over both JSON bindings with what a browser has", {
  timeout: 60_000,
}, async () => {
  execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json", "--noCheck", "--outDir", join(folder, "dist")]);
  copyFileSync("package.json", join(folder, "package.json"));
  symlinkSync("../../proto", join(folder, "proto"));
  writeFileSync(join(folder, "page.js"), PAGE);
  const bundle = join(folder, "out", "page.bundle.js");
  await build({
    configFile: false,
    logLevel: "warn",
    root: folder,
    build: {
      outDir: "out",
      minify: false,
      lib: { entry: "page.js", formats: ["iife"], name: "bundle", fileName: () => "page.bundle.js" },
    },
  });
  await using server = await serve(
    agent({
      name: "Hello",
      description: "Greets",
      async *run(task) {
        yield task.artifact(`Hello ${task.input.text}`);
      },
    }),
    { port: 0, auth: "anonymous", journal: "memory:" },
  );
  const globals: Record<string, unknown> = Object.fromEntries(
    [...WEB, ...ALSO_WEB].map((name) => [name, Reflect.get(globalThis, name)]),
  );
  const context = createContext(globals);
  runInContext(readFileSync(bundle, "utf8"), context);
  const said = await (globals.page as (url: string) => Promise<string[]>)(server.url);
  const once = ["Hello Ada", "task", "artifactUpdate", "statusUpdate"];
  expect(said).toEqual([...once, ...once, expect.stringContaining("need Node")]);
});
