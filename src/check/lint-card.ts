import { CONNECT_BINDING, GRPC_WEB_BINDING } from "../a2a/our-names.js";
import type { AgentCard, AgentInterface, SecurityRequirement, SecurityScheme } from "../a2a/types.js";
import type { FoundCard } from "./card.js";
import { lintSignatures } from "./lint-signatures.js";
import type { Verdicts } from "./report.js";

/** Core bindings (§5.2), and our own. */
const BINDINGS: readonly string[] = ["JSONRPC", "GRPC", "HTTP+JSON", CONNECT_BINDING, GRPC_WEB_BINDING];

/** An absolute URI of any scheme. */
const URI = /^[a-z][a-z0-9+.-]*:\S+$/i;

/** Judges what a card says, beyond its shape. */
export function lintCard(record: Verdicts, { url, card }: FoundCard): void {
  lintInterfaces(record, card, new URL(url));
  lintSkills(record, card);
  lintModes(record, card);
  lintSecurity(record, card);
  lintExtensions(record, card);
  lintLinks(record, card);
  lintSignatures(record, card);
}

function lintInterfaces(record: Verdicts, { supportedInterfaces }: AgentCard, at: URL): void {
  record.expect("card.interfaces", supportedInterfaces.length > 0, () => "supportedInterfaces is empty");
  const named = supportedInterfaces.map(
    (one) => `${one.protocolBinding} ${one.protocolVersion} ${one.url} ${one.tenant}`,
  );
  for (const name of repeated(named)) record.fail("card.interfaces", `${name.trim()} is named twice`);
  for (const one of supportedInterfaces) lintInterface(record, one, at);
}

function lintInterface(record: Verdicts, one: AgentInterface, at: URL): void {
  const { protocolBinding, protocolVersion } = one;
  const isKnown = BINDINGS.includes(protocolBinding) || URI.test(protocolBinding);
  record.expect("card.bindings", isKnown, () => JSON.stringify(protocolBinding));
  record.expect("card.versions", /^\d+\.\d+$/.test(protocolVersion), () => JSON.stringify(protocolVersion));
  const url = addressOf(one);
  record.expect("card.urls", url !== undefined, () => `${JSON.stringify(one.url)} of ${protocolBinding}`);
  if (url === undefined) return;
  const isLocal = isLoopback(url.hostname);
  record.expect("card.elsewhere", !isLocal || isLoopback(at.hostname), () => `${one.url}, in a card from ${at.origin}`);
  if (isLocal) record.skip("card.tls", "it isn't in production: the interfaces are on loopback");
  else if (/^https?:$/.test(url.protocol)) record.expect("card.tls", url.protocol === "https:", () => one.url);
}

/** The address of an interface: of gRPC it may be a bare authority, of a custom binding anything absolute. */
function addressOf({ url, protocolBinding }: AgentInterface): URL | undefined {
  const isBare = protocolBinding === "GRPC" && !/^[a-z][a-z0-9+.-]*:\/\//i.test(url);
  const text = isBare ? `https://${url}` : url;
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  if (parsed === undefined || parsed.username !== "" || parsed.password !== "") return undefined;
  if (!BINDINGS.includes(protocolBinding)) return parsed;
  return /^https?:$/.test(parsed.protocol) && parsed.hostname !== "" ? parsed : undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname === "0.0.0.0" || /^127\./.test(hostname);
}

function lintSkills(record: Verdicts, { skills }: AgentCard): void {
  const twice = repeated(skills.map(({ id }) => id));
  record.expect("card.skill-ids", twice.length === 0, () => `${twice.join(", ")} twice`);
  const bare = skills.filter(({ tags }) => tags.length === 0).map(({ id }) => `tags of the skill ${id}`);
  const empty = [...(skills.length === 0 ? ["skills"] : []), ...bare];
  record.expect("card.lists", empty.length === 0, () => `${empty.join(", ")}: empty`);
}

function lintModes(record: Verdicts, { defaultInputModes, defaultOutputModes, skills }: AgentCard): void {
  for (const [name, list] of Object.entries({ defaultInputModes, defaultOutputModes }))
    record.expect("card.lists", list.length > 0, () => `${name}: empty`);
  const modes = [
    defaultInputModes,
    defaultOutputModes,
    ...skills.flatMap((one) => [one.inputModes, one.outputModes]),
  ].flat();
  const strange = modes.filter((mode) => !/^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(\s*;.*)?$/.test(mode));
  record.expect("card.modes", strange.length === 0, () => strange.map((mode) => JSON.stringify(mode)).join(", "));
}

function lintSecurity(record: Verdicts, { securitySchemes, securityRequirements, skills }: AgentCard): void {
  const requirements: [where: string, all: readonly SecurityRequirement[]][] = [
    ["the card", securityRequirements],
    ...skills.map((skill): [string, readonly SecurityRequirement[]] => [
      `the skill ${skill.id}`,
      skill.securityRequirements,
    ]),
  ];
  for (const [where, all] of requirements) {
    const unknown = all
      .flatMap(({ schemes }) => Object.keys(schemes))
      .filter((name) => !Object.hasOwn(securitySchemes, name));
    record.expect(
      "card.security",
      unknown.length === 0,
      () => `${where} requires ${unknown.join(", ")}, which isn't declared`,
    );
  }
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    const wrong = schemeFault(scheme);
    record.expect("card.schemes", wrong === undefined, () => `${name}: ${wrong}`);
  }
}

/** What is wrong with a scheme beyond its shape. */
function schemeFault({ scheme }: SecurityScheme): string | undefined {
  switch (scheme.case) {
    case "apiKeySecurityScheme":
      return ["query", "header", "cookie"].includes(scheme.value.location)
        ? undefined
        : `location ${JSON.stringify(scheme.value.location)}`;
    case "oauth2SecurityScheme": {
      const { flow } = scheme.value.flows ?? {};
      if (flow?.case === undefined) return "no flow";
      const urls = Object.entries(flow.value).filter(
        (entry): entry is [string, string] => entry[0].endsWith("Url") && typeof entry[1] === "string",
      );
      const wrong = urls.find(([, url]) => url !== "" && !isLink(url));
      return wrong === undefined ? undefined : `${wrong[0]} ${JSON.stringify(wrong[1])}`;
    }
    case "openIdConnectSecurityScheme":
      return isLink(scheme.value.openIdConnectUrl)
        ? undefined
        : `openIdConnectUrl ${JSON.stringify(scheme.value.openIdConnectUrl)}`;
    case undefined:
      return "none of the known kinds";
    default:
      return undefined;
  }
}

function lintExtensions(record: Verdicts, { capabilities }: AgentCard): void {
  const uris = capabilities?.extensions.map(({ uri }) => uri) ?? [];
  const wrong = [...repeated(uris), ...uris.filter((uri) => !URI.test(uri))];
  record.expect("card.extensions", wrong.length === 0, () => wrong.map((uri) => JSON.stringify(uri)).join(", "));
}

function lintLinks(record: Verdicts, { provider, documentationUrl, iconUrl }: AgentCard): void {
  const links = { "provider.url": provider?.url, documentationUrl, iconUrl };
  for (const [name, link] of Object.entries(links))
    if (link !== undefined)
      record.expect("card.links", isLink(link) || /^data:/.test(link), () => `${name} ${JSON.stringify(link)}`);
}

function isLink(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function repeated(all: readonly string[]): string[] {
  return [...new Set(all.filter((one, index) => all.indexOf(one) !== index))];
}
