import type { Wire } from "../support/exchange.js";
import { play, scenesOf } from "./scenes.js";
import { createStage, startCast } from "./served.js";
import { transcriptOf } from "./write.js";

/** The file of each wire, beside this one. */
export const TRANSCRIPTS: Readonly<Record<string, Wire>> = {
  "jsonrpc.txt": "JSON-RPC",
  "http-json.txt": "HTTP+JSON",
  "grpc.txt": "gRPC",
  "grpc-web.txt": "gRPC-Web",
  "connect.txt": "Connect",
  "connect-json.txt": "Connect JSON",
};

/** Plays every scene of a wire on servers whose clock stands and whose ids count: the same bytes each time. */
export async function record(wire: Wire): Promise<string> {
  const stage = createStage();
  const cast = await startCast(stage);
  try {
    const shown: string[] = [];
    for (const [index, scene] of scenesOf(wire).entries()) {
      stage.scene(index + 1);
      const { sent, received } = await play(scene, wire, cast);
      shown.push(`== ${scene.operation}: ${scene.title}\n\n${transcriptOf(wire, scene.operation, sent, received)}\n`);
    }
    return shown.join("\n");
  } finally {
    await cast.close();
  }
}
