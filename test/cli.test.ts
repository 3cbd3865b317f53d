import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nuncio, nuncioServe, type Running } from "./support/command.js";
import { startRawServer } from "./support/raw-server.js";

const folder = mkdtempSync(join(tmpdir(), "nuncio-cli-"));
let server: Running;

beforeAll(async () => {
  server = await nuncioServe("examples/main.ts", "--port", "0", "--journal", `sqlite:${join(folder, "cli.db")}`);
});
afterAll(async () => {
  expect(await server.stop("SIGTERM")).toBe(0);
  rmSync(folder, { recursive: true });
});

describe("serve", () => {
  test("says what it serves, where the card is, and what to try", () => {
    for (const said of [
      "Hello (hello)",
      "/.well-known/agent-card.json",
      "curl -s",
      "grpcurl -plaintext",
      "npx nuncio send",
    ]) {
      expect(server.output()).toContain(said);
    }
  });

  test.each([
    [["nothing.ts"], "There is no file nothing.ts"],
    [["README.md"], "README.md can't be loaded: name a module file"],
    [["."], ". can't be loaded: name a module file"],
    [["package.json"], "package.json can't be loaded: name a module file"],
    [["examples/hello.ts", "--port", "x"], "--port must be a whole number"],
    [["examples/hello.ts", "--journal", "mongo:x"], "memory: or sqlite:FILE"],
    [["examples/hello.ts", "--host", "0.0.0.0", "--port", "0"], "--anonymous"],
    [["examples/hello.ts", "--bogus"], "Unknown option '--bogus'"],
    [[], "Usage: nuncio serve FILE"],
  ])("refuses %j in one line that says what to do", async (args, says) => {
    const { code, stderr } = await nuncio("serve", ...args);
    expect([code, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain(says);
  });

  test("serves TypeScript from a package that isn't of type module, as `npm init` makes it", async () => {
    const project = join(folder, "project");
    mkdirSync(join(project, "node_modules"), { recursive: true });
    symlinkSync(process.cwd(), join(project, "node_modules", "nuncio"));
    writeFileSync(join(project, "package.json"), JSON.stringify({ type: "commonjs" }));
    const source = (name: string) =>
      `import { agent } from "nuncio";\nexport const ${name} = agent({ name: "${name}", description: "x", reply: () => "x" });\n`;
    writeFileSync(join(project, "other.ts"), source("other"));
    writeFileSync(
      join(project, "both.ts"),
      `${source("one")}export { other } from "./other.js";\nexport default one;\n`,
    );
    writeFileSync(join(project, "later.ts"), `await 1;\n${source("later")}`);
    const serving = await nuncioServe(join(project, "both.ts"), "--port", "0", "--journal", "memory:");
    expect(serving.output()).toContain("one (one), other (other)");
    expect(await serving.stop("SIGTERM")).toBe(0);
    const { code, stderr } = await nuncio("serve", join(project, "later.ts"), "--port", "0");
    expect([code, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain('say "type": "module" in package.json');
  });

  test("says its version", async () => {
    expect((await nuncio("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("refuses a module that exports no agent, and a port that is taken", async () => {
    const file = join(folder, "empty.mjs");
    writeFileSync(file, "export const x = setInterval(() => {}, 1000);");
    expect((await nuncio("serve", file)).stderr).toContain("exports no agent");
    const taken = await nuncio(
      "serve",
      "examples/hello.ts",
      "--journal",
      "memory:",
      "--port",
      new URL(server.url).port,
    );
    expect([taken.code, taken.stderr]).toEqual([2, expect.stringContaining("is taken; choose another with --port")]);
  });
});

describe("card and send", () => {
  test("card shows the agent, and with --json its card", async () => {
    expect((await nuncio("card", server.url)).stdout).toContain("Greets whoever writes");
    expect(JSON.parse((await nuncio("card", server.url, "--json")).stdout)).toMatchObject({ name: "Hello" });
  });

  test.each(["jsonrpc", "http-json", "grpc", "grpc-web", "connect"])(
    "send prints the answer over %s",
    async (binding) => {
      expect(await nuncio("send", server.url, "Ada", "--binding", binding)).toEqual({
        code: 0,
        stdout: "Hello Ada\n",
        stderr: "",
      });
    },
  );

  test("send --stream shows states and what grows; --json one event a line", async () => {
    expect((await nuncio("send", server.url, "Ada", "--stream")).stdout).toBe("WORKING\nHello Ada\nCOMPLETED\n");
    const { stdout } = await nuncio("send", server.url, "Ada", "--stream", "--json");
    const lines = stdout.trim().split("\n");
    expect(lines.map((line) => Object.keys(JSON.parse(line))[0])).toEqual(["task", "artifactUpdate", "statusUpdate"]);
  });

  test("send --data sends a data part, beside the text or alone", async () => {
    const file = join(folder, "mirror.ts");
    writeFileSync(
      file,
      `import { agent } from "nuncio";
       export default agent({ name: "Mirror", description: "Says what came", reply: ({ text, data }) => JSON.stringify([text, data]) });`,
    );
    const mirror = await nuncioServe(file, "--port", "0", "--journal", "memory:");
    try {
      expect((await nuncio("send", mirror.url, "two", "--data", '{"n":2}')).stdout).toBe('["two",{"n":2}]\n');
      expect((await nuncio("send", mirror.url, "", "--data", "[1]")).stdout).toBe('["",[1]]\n');
      const wrong = await nuncio("send", mirror.url, "x", "--data", "{n}");
      expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--data must be JSON")]);
    } finally {
      await mirror.stop("SIGTERM");
    }
  });

  test("a question says how to answer it, and the answer goes on", async () => {
    const trip = `${server.url}/agents/trip`;
    const { stdout } = await nuncio("send", trip, "A weekend");
    expect(stdout).toContain("Which city?");
    const id = stdout.match(/--task (\S+)/)?.[1] ?? "";
    expect((await nuncio("send", trip, "Rome", "--task", id)).stdout).toContain("How many nights in Rome?");
    expect((await nuncio("send", trip, "2", "--task", id)).stdout).toContain("2 nights in Rome.");
    const again = await nuncio("send", trip, "more", "--task", id);
    expect([again.code, again.stderr]).toEqual([3, expect.stringContaining("has ended")]);
  });

  test("a task that ends badly is exit code 1; an agent out of reach 3", async () => {
    const trip = `${server.url}/agents/trip`;
    const id = (await nuncio("send", trip, "x", "--json")).stdout.match(/"id":"([^"]+)"/)?.[1] ?? "";
    await nuncio("send", trip, "Rome", "--task", id);
    const failed = await nuncio("send", trip, "many", "--task", id);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("isn't a number of nights")]);
    const unreachable = await nuncio("send", "http://127.0.0.1:9", "x");
    expect([unreachable.code, unreachable.stderr.trim().split("\n").length]).toEqual([3, 1]);
  });

  test("an agent that hangs up is exit code 4, and a whole command to look with", async () => {
    const raw = await startRawServer((_request, _count, socket) => void socket.destroy());
    const file = join(folder, "lost.mjs");
    writeFileSync(
      file,
      `import { agent } from "nuncio";
       export default agent({ name: "Lost", description: "Is somewhere else", reply: () => "x" });`,
    );
    const lost = await nuncioServe(file, "--port", "0", "--journal", "memory:", "--public-url", raw.url);
    try {
      const { code, stderr } = await nuncio("send", lost.url, "x", "--binding", "jsonrpc");
      expect([code, stderr]).toEqual([4, expect.stringContaining(`look with: npx nuncio task list ${lost.url}\n`)]);
    } finally {
      await lost.stop("SIGTERM");
      await raw.close();
    }
  });

  test("send --stream to an agent that doesn't stream says to leave it out", async () => {
    const file = join(folder, "plain.mjs");
    writeFileSync(
      file,
      `import { agent } from "nuncio";
       export default agent({ name: "P", description: "P", capabilities: { streaming: false }, reply: () => "x" });`,
    );
    const serving = await nuncioServe(file, "--port", "0", "--journal", "memory:");
    try {
      const { code, stderr } = await nuncio("send", serving.url, "x", "--stream");
      expect([code, stderr]).toEqual([3, expect.stringMatching(/doesn't stream.*: leave out --stream\n$/)]);
    } finally {
      await serving.stop("SIGTERM");
    }
  });

  test.each([
    [["send"], "Usage: nuncio send URL"],
    [["send", "ftp://x", "y"], "isn't the URL of an agent"],
    [["send", "http://x", "y", "--binding", "soap"], "--binding must be one of"],
    [["send", "http://x", "y", "--header", "bad"], "--header must be"],
    [["send", "http://x", "y", "--timeout", "0"], "--timeout must be"],
    [["task"], "nuncio task takes get, list, cancel or watch"],
    [["task", "list", "http://x", "--state", "ASLEEP"], "--state must be one of"],
    [["bogus"], 'There is no command "bogus"'],
    [["toString"], 'There is no command "toString"'],
  ])("%j is refused in one line", async (args, says) => {
    const { code, stderr } = await nuncio(...args);
    expect([code, stderr.trim().split("\n").length, stderr]).toEqual([2, 1, expect.stringContaining(says)]);
  });
});

describe("task", () => {
  test("get, list, cancel and watch", async () => {
    const slow = `${server.url}/agents/slow`;
    const id = JSON.parse((await nuncio("send", slow, "600", "--no-wait", "--json")).stdout).task.id;
    expect((await nuncio("task", "list", slow, "--state", "working")).stdout).toContain(id);
    const watching = nuncio("task", "watch", slow, id);
    expect((await nuncio("task", "cancel", slow, id)).stdout).toContain("CANCELED");
    const watched = await watching;
    expect([watched.code, watched.stdout]).toEqual([1, expect.stringContaining("CANCELED")]);
    const again = await nuncio("task", "watch", slow, id); // it has ended: its result is shown
    expect([again.code, again.stdout]).toEqual([1, expect.stringMatching(/state {4}CANCELED/)]);
    expect((await nuncio("task", "get", slow, id)).stdout).toContain("state    CANCELED");
    expect((await nuncio("task", "list", slow, "--state", "working")).stdout).toBe("No tasks.\n");
    const missing = await nuncio("task", "get", slow, "nope");
    expect([missing.code, missing.stderr]).toEqual([3, "nuncio: Task not found\n"]);
  });
});
