import { AgentCardSchema } from "../a2a/types.js";
import { callOptions, readArguments } from "./arguments.js";
import { withPeer } from "./peer.js";
import { type Output, plain } from "./terminal.js";
import { usage } from "./usage.js";

/** `nuncio card URL`: what an agent says of itself. */
export async function card(args: readonly string[], output: Output): Promise<number> {
  const { values, positionals } = readArguments(args, callOptions, usage.card, 1);
  const shown = await withPeer(positionals[0] ?? "", values, async (peer) => peer.card);
  if (values.json) {
    output.json(AgentCardSchema, shown);
    return 0;
  }
  const { name, version, description, supportedInterfaces, skills, capabilities, securitySchemes } = shown;
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
