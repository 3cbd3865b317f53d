import { A2AError } from "../a2a/errors.js";
import { CONNECT_BINDING, GRPC_WEB_BINDING } from "../a2a/our-names.js";
import type { AgentCard, AgentInterface } from "../a2a/types.js";

/** What the bindings are called where one chooses among them. */
export const bindingNames = ["jsonrpc", "http-json", "grpc", "grpc-web", "connect"] as const;
/** One of the five bindings. */
export type BindingName = (typeof bindingNames)[number];

const NAMES: Readonly<Record<string, BindingName>> = {
  JSONRPC: "jsonrpc",
  "HTTP+JSON": "http-json",
  GRPC: "grpc",
  [CONNECT_BINDING]: "connect",
  [GRPC_WEB_BINDING]: "grpc-web",
};

/** The binding of an interface, if it is one that we speak. */
export function spokenBinding({ protocolBinding }: AgentInterface): BindingName | undefined {
  return NAMES[protocolBinding] ?? NAMES[protocolBinding.toUpperCase()];
}

/** An interface of a card that we speak. */
export interface Chosen {
  readonly binding: BindingName;
  readonly interface: AgentInterface;
}

/**
 * The first interface in the card's order that we speak (§8.3.2); with `bindings`, the first that the caller prefers. A card is
 * another's word: an address that isn't one of HTTP is passed over.
 * @throws A2AError VERSION_NOT_SUPPORTED, saying what the card offers; INVALID_AGENT_RESPONSE when only the address is wrong.
 */
export function chooseInterface(card: AgentCard, bindings?: readonly BindingName[]): Chosen {
  const spoken = card.supportedInterfaces.flatMap((one): Chosen[] => {
    const binding = spokenBinding(one);
    return binding !== undefined && /^1\.0(\.|$)/.test(one.protocolVersion) ? [{ binding, interface: one }] : [];
  });
  const wanted =
    bindings === undefined ? spoken : bindings.flatMap((name) => spoken.filter(({ binding }) => binding === name));
  const first = wanted.find(isReachable);
  if (first !== undefined) return first;
  const [unreachable] = wanted;
  if (unreachable !== undefined)
    throw new A2AError(
      "INVALID_AGENT_RESPONSE",
      `The card of ${card.name} gives ${JSON.stringify(unreachable.interface.url)} for ${unreachable.interface.protocolBinding}, which no call can go to`,
    );
  const offered =
    card.supportedInterfaces
      .map(({ protocolBinding, protocolVersion }) => `${protocolBinding} ${protocolVersion}`)
      .join(", ") || "nothing";
  const asked = bindings === undefined ? "" : ` over ${bindings.join(", ")}`;
  throw new A2AError("VERSION_NOT_SUPPORTED", `${card.name} offers no A2A 1.0 interface${asked}; it offers ${offered}`);
}

/** Whether calls can go to an interface: to an address of HTTP without credentials, or, of gRPC, to a bare authority. */
export function isReachable({ binding, interface: { url } }: Chosen): boolean {
  const isBare = binding === "grpc" && !/^https?:/i.test(url);
  const address = isBare ? `https://${url}` : url;
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  if (isBare && /[/?#]/.test(url)) return false;
  return /^https?:$/.test(protocol) && hostname !== "" && username === "" && password === "";
}
