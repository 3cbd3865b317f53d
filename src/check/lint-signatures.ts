import type { AgentCard, AgentCardSignature } from "../a2a/types.js";
import { isObject } from "../a2a/unknown-json.js";
import type { Verdicts } from "./report.js";

/** Judges the form of a card's signatures (§8.4.2). Whether they verify needs keys that one trusts. */
export function lintSignatures(record: Verdicts, { signatures }: AgentCard): void {
  for (const [index, signature] of signatures.entries()) {
    const header = headerOf(signature);
    const wrong = signatureFault(signature, header);
    record.expect("card.signatures", wrong === undefined, () => `signatures[${index}]: ${wrong}`);
    if (header !== undefined)
      record.expect("card.signatures.typ", header.typ === "JOSE", () => `typ ${JSON.stringify(header.typ)}`);
  }
  if (signatures.length > 0)
    record.skip("card.signatures.verified", "this version looks at their form only; it has no keys to trust");
}

function headerOf({ protected: encoded }: AgentCardSignature) {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, "base64url").toString());
    return isObject(header) ? header : undefined;
  } catch {
    return undefined;
  }
}

function signatureFault(signature: AgentCardSignature, header: ReturnType<typeof headerOf>): string | undefined {
  if (!isBase64Url(signature.protected)) return "protected is no base64url";
  if (header === undefined) return "protected is no JSON object";
  const { alg, kid } = header;
  if (typeof alg !== "string" || alg === "") return "no alg in the protected header";
  if (/^(none|HS\d+)$/i.test(alg)) return `alg ${alg}, which proves nothing about who signed`;
  if (typeof kid !== "string" || kid === "") return "no kid in the protected header";
  return isBase64Url(signature.signature) ? undefined : "signature is no base64url";
}

function isBase64Url(text: string): boolean {
  return /^[\w-]+$/.test(text) && text.length % 4 !== 1;
}
