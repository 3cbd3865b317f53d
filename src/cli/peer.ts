import { type BindingName, bindingNames } from "../client/choose-interface.js";
import { CallError } from "../client/outcome.js";
import type { Peer } from "../client/peer.js";
import { connect } from "../connect.js";
import { urlOf, wholeNumber } from "./arguments.js";
import { UnknownOutcome } from "./unknown-outcome.js";
import { UsageError } from "./usage.js";

interface CallArguments {
  readonly binding?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly timeout?: string | undefined;
}

/** Connects as the options say, calls, and closes. @throws UsageError, UnknownOutcome, CallError. */
export async function withPeer<T>(
  target: string,
  options: CallArguments,
  call: (peer: Peer) => Promise<T>,
): Promise<T> {
  await using peer = await peerOf(target, options);
  try {
    return await call(peer);
  } catch (error) {
    throw error instanceof CallError && error.outcome === "unknown" ? new UnknownOutcome(target, error) : error;
  }
}

async function peerOf(target: string, options: CallArguments): Promise<Peer> {
  const { binding, header = [] } = options;
  timeoutOf(options); // refused before anything is sent
  return connect(urlOf(target), {
    bindings: binding === undefined ? undefined : [bindingOf(binding)],
    headers: Object.fromEntries(header.map(headerOf)),
  });
}

/** `--timeout`, in milliseconds. */
export function timeoutOf({ timeout }: CallArguments): { timeoutMs?: number } {
  const seconds = wholeNumber("timeout", timeout, { min: 1, max: 86_400 });
  return seconds === undefined ? {} : { timeoutMs: seconds * 1_000 };
}

/** A binding by its name. @throws UsageError. */
export function bindingOf(name: string): BindingName {
  const binding = bindingNames.find((one) => one === name);
  if (binding === undefined)
    throw new UsageError(`--binding must be one of ${bindingNames.join(", ")}, not ${JSON.stringify(name)}`);
  return binding;
}

/** `--header "name: value"`. @throws UsageError. */
export function headerOf(text: string): [string, string] {
  const colon = text.indexOf(":");
  const [name, value] = [text.slice(0, Math.max(colon, 0)).trim(), text.slice(colon + 1).trim()];
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[\r\n]/.test(value))
    throw new UsageError(`--header must be "name: value", not ${JSON.stringify(text)}`);
  return [name.toLowerCase(), value];
}
