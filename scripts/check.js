// Everything that must be clean besides the tests. Usage: npm run check
import { spawnSync } from "node:child_process";

const steps = [
  ["lint, format, boundaries", "biome", ["ci", "."]],
  ["types", "tsc", []],
  [
    "generated code is fresh, contract is compatible",
    "vitest",
    ["run", "test/generate.test.ts", "test/contract-image.test.ts"],
  ],
  ["build", "npm", ["run", "--silent", "build"]],
  ["package", "publint", ["--strict"]],
  ["package's types", "attw", ["--pack", ".", "--profile", "esm-only"]],
];

const failed = steps.filter(([what, command, args]) => {
  const { status } = spawnSync(command, args, { stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) process.stderr.write(`\n✗ ${what}\n\n`);
  return status !== 0;
});
process.stderr.write(
  failed.length === 0 ? "check: clean\n" : `check: ${failed.map(([what]) => what).join("; ")} failed\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
