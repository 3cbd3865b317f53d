import { AgentCardSchema } from "../a2a/types.js";
import { callOptions, readArguments } from "./arguments.js";
import { peerOf } from "./peer.js";
import { type Output, plain } from "./terminal.js";
import { usage } from "./usage.js";

/** `nuncio card URL`: what an agent says of itself. */
export async function card(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = readArguments(args, callOptions, usage.card, 1);
  await using peer = await peerOf(positionals[0] ?? "", values);
  if (values.json) {
    output.json(AgentCardSchema, peer.card);
    return 0;
  }
  const { name, version, description, supportedInterfaces, skills, capabilities, securitySchemes } = peer.card;
  const line = (text: string): void => output.line(plain(text));
  line(`${name} ${version}\n${description}\n`);
  for (const { protocolBinding, protocolVersion, url, tenant } of supportedInterfaces) {
    line(`  ${protocolBinding} ${protocolVersion}  ${url}${tenant === "" ? "" : `  tenant ${tenant}`}`);
  }
  line("\nSkills");
  for (const skill of skills) line(`  ${skill.id}  ${skill.description}`);
  const can = Object.entries({
    streaming: capabilities?.streaming,
    "push notifications": capabilities?.pushNotifications,
    "extended card": capabilities?.extendedAgentCard,
  });
  line(`\n${can.map(([what, yes]) => `${what}: ${yes ? "yes" : "no"}`).join(", ")}`);
  const schemes = Object.keys(securitySchemes);
  line(`authentication: ${schemes.length === 0 ? "none" : schemes.join(" or ")}`);
  return 0;
}
