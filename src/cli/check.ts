import { writeFile } from "node:fs/promises";
import { checkAgent } from "../check/check.js";
import { isFault } from "../check/report.js";
import { junitXml } from "../check/report-junit.js";
import { reportLines } from "../check/report-text.js";
import { callOptions, readArguments, urlOf } from "./arguments.js";
import { bindingOf, headerOf, timeoutOf } from "./peer.js";
import { type Output, plain } from "./terminal.js";
import { UsageError, usage } from "./usage.js";

/** `nuncio check URL`: judges a live agent. Exit code 1 when a MUST failed (with `--strict` a SHOULD as well), 3 without a card. */
export async function checkCommand(args: readonly string[], output: Output): Promise<number> {
  const options = {
    ...callOptions,
    binding: { type: "string", multiple: true },
    text: { type: "string" },
    junit: { type: "string" },
    strict: { type: "boolean" },
  } as const;
  const { values, positionals } = readArguments(args, options, usage.check, 1);
  const target = urlOf(positionals[0] ?? "");
  const how = {
    bindings: values.binding?.map(bindingOf),
    headers: Object.fromEntries((values.header ?? []).map(headerOf)),
    text: values.text,
    ...timeoutOf({ timeout: values.timeout }),
  };
  if (values.junit !== undefined) await write(values.junit, ""); // what can't be written is known before, not after

  const stop = output.spin(`checking ${target.href}`);
  const report = await checkAgent(target, how).finally(stop);
  const isStrict = values.strict === true;
  if (values.json) output.line(JSON.stringify(report));
  else for (const line of reportLines(report)) output.line(plain(line));
  if (values.junit !== undefined) await write(values.junit, junitXml(report, isStrict));

  if (report.agent === undefined) return 3;
  return report.findings.some((finding) => isFault(finding, isStrict)) ? 1 : 0;
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: unknown) => {
    throw new UsageError(`${file} can't be written: ${error instanceof Error ? error.message : String(error)}`);
  });
}
