// Where a model call goes: set LLM_URL to an OpenAI-compatible endpoint (http://localhost:11434/v1, say), and LLM_MODEL and LLM_KEY if it
// needs them. Without it the agent says what it would have asked.
import { agent, type TaskContext } from "nuncio";

const { LLM_URL, LLM_MODEL = "llama3.2", LLM_KEY } = process.env;

export default agent({
  name: "Writer",
  description: "Answers in prose, as it thinks of it",
  async *run(task) {
    if (LLM_URL === undefined) return task.completed(`Set LLM_URL, and I'll ask ${LLM_MODEL}: ${task.input.text}`);
    yield* task.stream(({ signal }) => answer(LLM_URL, conversation(task), signal), { name: "answer" });
  },
});

function conversation({ history }: TaskContext) {
  return history.map(({ role, text }) => ({ role: role === "user" ? "user" : "assistant", content: text }));
}

/** The model's words as they come. */
async function* answer(url: string, messages: object[], signal: AbortSignal): AsyncGenerator<string> {
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(LLM_KEY === undefined ? {} : { authorization: `Bearer ${LLM_KEY}` }),
    },
    body: JSON.stringify({ model: LLM_MODEL, messages, stream: true }),
    signal,
  });
  if (!response.ok || response.body === null) throw new Error(`The model answered with HTTP ${response.status}`);
  let pending = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (pending + text).split("\n");
    pending = lines.pop() ?? "";
    for (const line of lines) {
      const word = wordIn(line);
      if (word !== "") yield word;
    }
  }
}

function wordIn(line: string): string {
  const data = line.startsWith("data:") ? line.slice(5).trim() : "";
  if (data === "" || data === "[DONE]") return "";
  const event: { choices?: { delta?: { content?: string } }[] } = JSON.parse(data);
  return event.choices?.[0]?.delta?.content ?? "";
}
