import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, serve } from "nuncio";
import { connect, contentOf } from "nuncio/client";
import { expect, test } from "vitest";
import { quiet } from "./support/small-agents.js";

const odd = {
  "": null,
  a: [null, { b: [] }],
  n: [-0, 1e308, 5e-324, 2 ** 53],
  t: "\u0000 𝄞 é",
  ["__proto__"]: { x: false },
};

const talkative = agent({
  name: "Talkative",
  description: "Says all that can be said",
  async *run(task) {
    yield task.working("thinking", { metadata: { odd }, extensions: ["https://x.example/e"] });
    yield task.artifact([{ data: odd, metadata: { odd } }, { raw: new Uint8Array([0, 255]), filename: "a.bin" }, ""], {
      name: "all",
      metadata: { odd },
    });
    yield* task.stream(["a", { url: "https://x.example/f", mediaType: "text/html" }], { description: "in pieces" });
    return task.completed({ data: [odd] }, { metadata: { odd } });
  },
});

test("what a run has said is the same to who reads it then, and to who reads it after a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nuncio-given-"));
  const journal = `sqlite:${join(folder, "journal.db")}`;
  const seen = [];
  let taskId = "";
  for (let start = 0; start < 2; start++) {
    await using server = await serve(talkative, { ...quiet, journal });
    await using peer = await connect(server.url, { bindings: ["grpc"] });
    if (taskId === "") taskId = (await peer.send("x")).task?.id ?? "";
    const task = await peer.get(taskId);
    seen.push({ task, data: contentOf(task).data });
  }
  expect(seen[0]?.data).toEqual(odd);
  expect(seen[1]).toEqual(seen[0]);
  rmSync(folder, { recursive: true, force: true });
});
