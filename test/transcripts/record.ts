import { exchange, type Sent, type Wire } from "../support/exchange.js";
import { play, scenesOf } from "./scenes.js";
import { type Cast, createStage, type Stage, startCast } from "./served.js";
import { transcriptOf } from "./write.js";

const WIRE_FILES: Readonly<Record<string, Wire>> = {
  "jsonrpc.txt": "JSON-RPC",
  "http-json.txt": "HTTP+JSON",
  "grpc.txt": "gRPC",
  "grpc-web.txt": "gRPC-Web",
  "connect.txt": "Connect",
  "connect-json.txt": "Connect JSON",
};

/** The files beside this one, and how each is made: the same bytes each time, on servers whose clock stands and whose ids count. */
export const TRANSCRIPTS: Readonly<Record<string, () => Promise<string>>> = {
  ...Object.fromEntries(
    Object.entries(WIRE_FILES).map(([file, wire]) => [file, () => onStage((stage, cast) => record(wire, stage, cast))]),
  ),
  "public.txt": () => onStage((_stage, cast) => recordPublic(cast)),
};

async function onStage(act: (stage: Stage, cast: Cast) => Promise<string[]>): Promise<string> {
  const stage = createStage();
  const cast = await startCast(stage);
  try {
    return (await act(stage, cast)).join("\n");
  } finally {
    await cast.close();
  }
}

/** Plays every scene of a wire. */
async function record(wire: Wire, stage: Stage, cast: Cast): Promise<string[]> {
  const shown: string[] = [];
  for (const [index, scene] of scenesOf(wire).entries()) {
    stage.scene(index + 1);
    const { sent, received } = await play(scene, wire, cast);
    shown.push(`== ${scene.operation}: ${scene.title}\n\n${transcriptOf(wire, scene.operation, sent, received)}\n`);
  }
  return shown;
}

/** What everybody may ask, and what lies at nobody's path. */
async function recordPublic(cast: Cast): Promise<string[]> {
  const shown: string[] = [];
  const show = async (title: string, method: string, path: string, headers: Record<string, string> = {}) => {
    const sent: Sent = { method, path, headers, body: Buffer.alloc(0) };
    const received = await exchange(cast.scripted.url, "HTTP+JSON", sent);
    shown.push(`== ${title}\n\n${transcriptOf("HTTP+JSON", "GetExtendedAgentCard", sent, received)}\n`);
    return received;
  };
  const card = "/.well-known/agent-card.json";
  const { headers } = await show("the card", "GET", card);
  await show("the card, for who has it", "GET", card, { "if-none-match": headers.etag ?? "" });
  await show("the card of a version that isn't there is the default one", "GET", card, { "a2a-version": "2.0" });
  await show("the card's headers", "HEAD", card);
  await show("what a browser asks before it asks for a version", "OPTIONS", card);
  await show("the card of nobody", "GET", `/agents/nobody${card}`);
  await show("the agents", "GET", "/agents");
  await show("health", "GET", "/healthz");
  await show("readiness", "GET", "/readyz");
  await show("nobody's path", "GET", "/");
  return shown;
}
