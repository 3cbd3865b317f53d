// Answers questions about a folder of Markdown, with an artifact that grows and citations as data. Needs no model and no network.
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { agent } from "nuncio";

const FOLDER = process.env.LIBRARY ?? fileURLToPath(new URL("../docs", import.meta.url));
const BEST = 3;

interface Passage {
  readonly file: string;
  readonly heading: string;
  readonly text: string;
}

export default agent({
  name: "Librarian",
  description: "Answers questions about a folder of Markdown, and says where the answers stand",
  async *run(task) {
    const words = wordsOf(task.input.text);
    if (words.length === 0) return task.inputRequired("What would you like to know?");
    yield task.working("Reading the library");
    const found = ranked(await passagesIn(FOLDER), words);
    if (found.length === 0) return task.completed(`Nothing in the library speaks of ${words.join(", ")}`);

    yield* task.stream(answer(found), { name: "answer" });
    yield task.artifact(
      { data: { citations: found.map(({ file, heading }) => ({ file, heading })) } },
      { name: "citations" },
    );
  },
});

/** The answer, sentence by sentence. */
function* answer(passages: readonly Passage[]): Generator<string> {
  for (const { file, heading, text } of passages) {
    yield `${heading} (${file})\n`;
    for (const sentence of text.match(/[^.!?]+[.!?]*\s*/g) ?? []) yield sentence;
    yield "\n\n";
  }
}

async function passagesIn(folder: string): Promise<Passage[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".md")).sort();
  const files = await Promise.all(
    names.map(async (name) => ({ path: join(folder, name), text: await readFile(join(folder, name), "utf8") })),
  );
  return files.flatMap(({ path, text }) => sectionsOf(relative(folder, path), text));
}

function sectionsOf(file: string, markdown: string): Passage[] {
  return markdown.split(/^#+ /m).flatMap((section) => {
    const [heading = "", ...lines] = section.split("\n");
    const text = lines.join(" ").replace(/\s+/g, " ").trim();
    return text === "" ? [] : [{ file, heading: heading.trim(), text: text.slice(0, 600) }];
  });
}

/** The passages that speak most of these words; a word in the heading counts more. */
function ranked(passages: readonly Passage[], words: readonly string[]): Passage[] {
  const score = ({ heading, text }: Passage) =>
    words.reduce((sum, word) => sum + 3 * count(heading, word) + count(text, word), 0);
  return passages
    .map((passage) => ({ passage, score: score(passage) }))
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, BEST)
    .map(({ passage }) => passage);
}

function count(text: string, word: string): number {
  return text.toLowerCase().split(word).length - 1;
}

function wordsOf(question: string): string[] {
  const common = new Set([
    "what",
    "where",
    "when",
    "which",
    "does",
    "with",
    "that",
    "this",
    "have",
    "from",
    "about",
    "the",
    "and",
    "how",
    "are",
    "you",
  ]);
  return [...new Set(question.toLowerCase().match(/[\p{L}\d-]{3,}/gu) ?? [])].filter((word) => !common.has(word));
}
