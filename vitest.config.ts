import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^nuncio$/, replacement: source("./src/index.ts") },
      { find: /^nuncio\/client$/, replacement: source("./src/connect.ts") },
      { find: /^nuncio\/types$/, replacement: source("./src/a2a/types.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 15_000,
    hookTimeout: 20_000,
  },
});
