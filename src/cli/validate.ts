import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { DescMessage } from "@bufbuild/protobuf";
import { messageType, validateAs } from "../a2a/validate.js";
import { readBody } from "../bindings/read-body.js";
import { type JudgedPayload, judgePayload } from "../check/judge-payload.js";
import { type Captured, readCapture } from "../check/read-capture.js";
import { readArguments } from "./arguments.js";
import { type Output, plain } from "./terminal.js";
import { UsageError, usage } from "./usage.js";

const MAX_BYTES = 64 * 1024 * 1024;

/** `nuncio validate [FILE]`: judges captured payloads by the contract. Exit code 1 when one is invalid. */
export async function validateCommand(args: readonly string[], output: Output): Promise<number> {
  const options = { type: { type: "string" }, json: { type: "boolean" } } as const;
  const { values, positionals } = readArguments(args, options, usage.validate, 0, 1);
  const schema = values.type === undefined ? undefined : schemaNamed(values.type);
  const captured = await readCapture(await read(positionals[0] ?? "-"), schema === undefined);
  if (captured.length === 0) throw new UsageError("There is nothing to validate: the input is empty");

  let isValid = true;
  for (const one of captured) {
    const judged = judge(one, schema);
    isValid &&= judged.violations.length === 0;
    if (values.json) output.line(JSON.stringify({ line: one.line, event: one.event, ...judged }));
    else print(one, judged, output);
  }
  return isValid ? 0 : 1;
}

function judge(captured: Captured, schema: DescMessage | undefined): JudgedPayload {
  if (captured.bytes !== undefined) {
    if (schema === undefined)
      throw new UsageError(
        "The payload isn't text, and bytes don't say what they are: give --type, such as --type Task",
      );
    return { type: schema.name, violations: validateAs(schema, captured.bytes) };
  }
  if (captured.broken !== undefined) {
    const violation = { path: "", rule: "JSON", description: `is not JSON: ${captured.broken}`, section: "§5.5" };
    return { type: schema?.name ?? "unknown", violations: [violation] };
  }
  const judged = judgePayload(captured.json, { schema, isEvent: captured.event !== undefined });
  if (judged !== undefined) return judged;
  const description = "has no member that any message of A2A 1.0 has, so its type can't be guessed: give --type";
  if (captured.line === undefined) throw new UsageError(`The payload ${description}`);
  return { type: "unknown", violations: [{ path: "", rule: "TYPE", description, section: "§4" }] };
}

function print({ line, event }: Captured, { type, alternatives, violations }: JudgedPayload, output: Output): void {
  const where = line !== undefined ? `line ${line}: ` : event !== undefined ? `event ${event}: ` : "";
  const others = alternatives?.slice(0, 5).join(", ");
  const guessed =
    others === undefined
      ? ""
      : others === ""
        ? " (guessed)"
        : ` (guessed; ${others} would fit as well: say which with --type)`;
  const count = violations.length === 1 ? "1 violation" : `${violations.length} violations`;
  output.line(`${where}${type}${guessed}: ${violations.length === 0 ? "valid" : count}`);
  for (const { path, rule, description, section } of violations)
    output.line(plain(`  ${path === "" ? "(whole)" : path}  ${rule} ${section}  ${description}`));
}

function schemaNamed(name: string): DescMessage {
  try {
    return messageType(name);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** @throws UsageError. */
async function read(file: string): Promise<Uint8Array> {
  if (file === "-" && process.stdin.isTTY)
    throw new UsageError(`There is nothing to validate: name a file, or pipe one in. Usage: ${usage.validate}`);
  const stream = file === "-" ? process.stdin : createReadStream(file);
  const bytes = await readBody(Readable.toWeb(stream) as ReadableStream<Uint8Array>, MAX_BYTES).catch(
    (error: NodeJS.ErrnoException) => {
      throw new UsageError(
        error.code === "ENOENT" ? `There is no file ${file}` : `${file} can't be read: ${error.message}`,
      );
    },
  );
  if (bytes === undefined) throw new UsageError(`${file} is larger than ${MAX_BYTES} bytes`);
  return bytes;
}
