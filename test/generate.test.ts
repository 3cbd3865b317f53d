import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules/.bin");

async function contentsOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(
    files.map(async (file) => [file.slice(folder.length), await readFile(file, "utf8")]),
  );
  return Object.fromEntries(contents);
}

it("gen/ is what the .proto files generate, and nothing else", async () => {
  const temporary = await mkdtemp(join(tmpdir(), "generate-"));
  try {
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    await promisify(execFile)(join(bin, "buf"), ["generate", "-o", temporary], { cwd: root, env });
    expect(await contentsOf(join(root, "gen"))).toEqual(await contentsOf(join(temporary, "gen")));
  } finally {
    await rm(temporary, { recursive: true });
  }
});
