// An extension of its own: a message says which language its answer should be in, and the answer says which one it is in.
import { agent, extension, type MessageView } from "nuncio";
import { z } from "zod";

const GREETINGS = { en: "Hello", de: "Guten Tag", it: "Buongiorno" } as const;

export const language = extension({
  uri: "https://example.com/extensions/language/v1",
  description: "A message says which language its answer should be in; an answer says which one it is in",
  params: { languages: Object.keys(GREETINGS) },
  schema: z.object({ language: z.enum(["en", "de", "it"]) }),
});

export default agent({
  name: "Polyglot",
  description: "Greets in the language that one asks for",
  extensions: [language],
  async *run(task) {
    const isActive = task.extensions.has(language.uri);
    const spoken = isActive ? wantedIn(task.input) : "en";
    if (spoken === undefined) return task.rejected(`I speak ${Object.keys(GREETINGS).join(", ")}`);
    yield task.artifact(
      `${GREETINGS[spoken]} ${task.input.text}`,
      isActive ? language.write({ language: spoken }) : {},
    );
  },
});

/** `undefined` for a language that it doesn't speak. */
function wantedIn(message: MessageView): keyof typeof GREETINGS | undefined {
  try {
    return language.read(message)?.language ?? "en";
  } catch {
    return undefined;
  }
}
