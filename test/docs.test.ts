import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

/** Every `file › test name` of a table. */
function namedIn(page: string): { file: string; name: string }[] {
  return [...read(`../docs/${page}`).matchAll(/`([\w./-]+\.ts) › ([^`]+)`/g)].map(([, file = "", name = ""]) => ({
    file,
    name: name.replaceAll("\\|", "|"),
  }));
}

const sources = new Map<string, string>();

function sourceOf(file: string): string {
  const source = sources.get(file) ?? read(file);
  sources.set(file, source);
  return source;
}

/** Whether a file has a test of exactly this name: `test("name", …`, `it.each(…)("name", …`. */
function hasTest({ file, name }: { file: string; name: string }): boolean {
  const source = sourceOf(file);
  return [JSON.stringify(name), `'${name}'`, `\`${name}\``].some((title) => {
    const at = source.indexOf(`${title},`);
    return at > 0 && /\(\s*$/.test(source.slice(0, at));
  });
}

test.each([
  ["conformance.md", 250],
  ["faults.md", 100],
] as const)("docs/%s names only tests that are there", (page, atLeast) => {
  const named = namedIn(page);
  expect(named.length).toBeGreaterThan(atLeast);
  expect(named.filter((one) => !hasTest(one))).toEqual([]);
});

test("docs/conformance.md counts its rows as they are", () => {
  const page = read("../docs/conformance.md");
  const states = [...page.matchAll(/^\|.+$/gm)]
    .map(([row]) => row.split(/(?<!\\)\|/)[5]?.trim() ?? "")
    .filter((state) => state !== "state" && !/^-+$/.test(state));
  const said = page.match(/^(\d+) rows: (.+?)\./m);
  const counts = [...(said?.[2] ?? "").matchAll(/(\d+) (\w+)/g)].map(([, count, state = ""]) => [state, Number(count)]);
  expect(Object.fromEntries(counts)).toEqual(countOf(states));
  expect(Number(said?.[1])).toBe(states.length);
});

function countOf(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
