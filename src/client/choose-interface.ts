import { CONNECT_BINDING, GRPC_WEB_BINDING } from "../a2a/agent-card.js";
import { A2AError } from "../a2a/errors.js";
import type { AgentCard, AgentInterface } from "../a2a/types.js";

export type BindingName = "jsonrpc" | "http-json" | "grpc" | "grpc-web" | "connect";

const NAMES: Readonly<Record<string, BindingName>> = {
  JSONRPC: "jsonrpc",
  "HTTP+JSON": "http-json",
  GRPC: "grpc",
  [CONNECT_BINDING]: "connect",
  [GRPC_WEB_BINDING]: "grpc-web",
};

/** An interface of a card that we speak. */
export interface Chosen {
  readonly binding: BindingName;
  readonly interface: AgentInterface;
}

/**
 * The first interface in the card's order that we speak (§8.3.2); with `bindings`, the first that the caller prefers.
 * @throws A2AError VERSION_NOT_SUPPORTED, saying what the card offers.
 */
export function chooseInterface(card: AgentCard, bindings?: readonly BindingName[]): Chosen {
  const spoken = card.supportedInterfaces.flatMap((one): Chosen[] => {
    const binding = NAMES[one.protocolBinding] ?? NAMES[one.protocolBinding.toUpperCase()];
    return binding !== undefined && /^1\.0(\.|$)/.test(one.protocolVersion) ? [{ binding, interface: one }] : [];
  });
  const wanted =
    bindings === undefined ? spoken : bindings.flatMap((name) => spoken.filter(({ binding }) => binding === name));
  const [first] = wanted;
  if (first !== undefined) return first;
  const offered =
    card.supportedInterfaces
      .map(({ protocolBinding, protocolVersion }) => `${protocolBinding} ${protocolVersion}`)
      .join(", ") || "nothing";
  const asked = bindings === undefined ? "" : ` over ${bindings.join(", ")}`;
  throw new A2AError("VERSION_NOT_SUPPORTED", `${card.name} offers no A2A 1.0 interface${asked}; it offers ${offered}`);
}
