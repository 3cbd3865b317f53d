import { type ParseArgsConfig, parseArgs } from "node:util";
import { UsageError } from "./usage.js";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** The options that every call takes. `--timeout` is in seconds. */
export const callOptions = {
  binding: { type: "string" },
  header: { type: "string", multiple: true },
  timeout: { type: "string" },
  json: { type: "boolean" },
} as const satisfies Options;

/**
 * Reads a command's arguments.
 * @param positionals how many there must be, at least; and at most, if that is more.
 * @throws UsageError with how the command is written.
 */
export function readArguments<const O extends Options>(
  args: readonly string[],
  options: O,
  usage: string,
  positionals: number,
  atMost: number = positionals,
): Arguments<O> {
  const read = parse(args, options, usage);
  const { length } = read.positionals;
  if (length < positionals || length > atMost) throw new UsageError(`Usage: ${usage}`);
  return read;
}

/** What an option's declaration says of its value. */
type Value<T> = T extends { type: "boolean" } ? boolean : T extends { multiple: true } ? string[] : string;

/** A command's arguments, read. */
export interface Arguments<O extends Options> {
  readonly values: { readonly [K in keyof O]?: Value<O[K]> };
  readonly positionals: readonly string[];
}

function parse<const O extends Options>(args: readonly string[], options: O, usage: string): Arguments<O> {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
    return { values: values as Arguments<O>["values"], positionals }; // parseArgs keeps to the declarations
  } catch (error) {
    const first = error instanceof Error ? (error.message.split(/[.\n]/)[0] ?? "") : String(error);
    throw new UsageError(`${first}. Usage: ${usage}`);
  }
}

/** A whole number of an option. @throws UsageError. */
export function wholeNumber(
  name: string,
  text: string | undefined,
  range: { min: number; max: number },
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= range.min && value <= range.max) return value;
  throw new UsageError(
    `--${name} must be a whole number from ${range.min} to ${range.max}, not ${JSON.stringify(text)}`,
  );
}

/** @throws UsageError for what isn't an http(s) URL. */
export function urlOf(text: string): URL {
  const written = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url !== undefined && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new UsageError(`${JSON.stringify(text)} isn't the URL of an agent; write something like http://localhost:8080`);
}
