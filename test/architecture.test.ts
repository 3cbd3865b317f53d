import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { A2AService } from "nuncio/types";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({
    file: relative(root, join(root, "src", name)),
    text: readFileSync(join(root, "src", name), "utf8"),
  }));

const where = (pattern: RegExp, but: readonly string[] = []) =>
  sources.filter(({ file, text }) => !but.includes(file) && pattern.test(text)).map(({ file }) => file);

test("no file is longer than one sitting", () => {
  expect(sources.filter(({ text }) => text.split("\n").length > 300).map(({ file }) => file)).toEqual([]);
});

test("time, chance and ids come from the runtime alone", () => {
  expect(
    where(/\bDate\.now\(|\bMath\.random\(|\bnew Date\(\)|\brandomUUID\b|\bperformance\.now\(|AbortSignal\.timeout\(/, [
      "src/runtime/runtime.ts",
    ]),
  ).toEqual([]);
});

test("the words of another version are in no room but its own", () => {
  expect(where(/message\/send|message\/stream|tasks\/resubscribe|"kind":|"(status|artifact)-update"/)).toEqual([]);
});

test("the operations are listed once: where the core implements them", () => {
  const names = A2AService.methods.map(({ localName }) => new RegExp(`\\b${localName}\\b`, "i"));
  const lists = sources
    .filter(({ text }) => names.filter((name) => name.test(text)).length === names.length)
    .map(({ file }) => file);
  expect(lists).toEqual(["src/core/handler.ts"]);
});

test("generated code comes in through one door", () => {
  expect(where(/gen\/lf\/a2a\/v1\/a2a_pb/, ["src/a2a/types.ts"])).toEqual([]);
});
