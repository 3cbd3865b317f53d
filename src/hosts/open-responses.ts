import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type AnyRequest, type AnyResponse, isHttp2 } from "../bindings/rpc-binding.js";
import { HEARTBEAT, streamHeaders } from "../bindings/sse.js";
import type { Runtime } from "../runtime/runtime.js";

/** The answers that are on their way. */
export interface OpenResponses {
  add(request: AnyRequest, response: AnyResponse): void;
  /** Whether something on this connection still waits for its answer, or gets it just now. */
  has(socket: Duplex): boolean;
  /** Finds out whether a caller that has closed its half is still there. */
  probe(socket: Duplex): void;
  /** Resolves when none is open any more, or at the deadline: with whether all have ended. */
  ended(deadlineMs: number): Promise<boolean>;
}

/** Between two signs of life: the first makes a closed peer refuse, the second meets the refusal. */
const PROBE_MS = 100;

/** Keeps count of the answers of one server. */
export function createOpenResponses(runtime: Runtime): OpenResponses {
  const open = new Set<AnyResponse>();
  const onSocket = new Map<Duplex, Set<ServerResponse>>();
  const waiting = new Set<() => void>();

  function add(request: AnyRequest, response: AnyResponse): void {
    open.add(response);
    response.once("close", () => {
      open.delete(response);
      if (open.size === 0) for (const done of waiting) done();
    });
    if (isHttp2(response)) return;
    const { socket } = request;
    const ofSocket = onSocket.get(socket) ?? new Set();
    onSocket.set(socket, ofSocket.add(response));
    response.once("close", () => {
      ofSocket.delete(response);
      if (ofSocket.size === 0) onSocket.delete(socket);
    });
  }

  /**
   * A FIN may mean "that was my request" or "I am gone"; only writing tells. An event stream takes a comment, an answer that hasn't begun
   * an interim response, and what takes neither is given up.
   */
  function probe(socket: Duplex): void {
    for (const response of onSocket.get(socket) ?? []) {
      if (!response.headersSent && response.req.httpVersion === "1.1") response.writeProcessing();
      else if (isEventStream(response)) response.write(HEARTBEAT);
      else if (!response.writableEnded) socket.destroy();
    }
  }

  return {
    add,
    has: (socket) => [...(onSocket.get(socket) ?? [])].some(({ req, headersSent }) => req.complete || headersSent),
    probe(socket) {
      probe(socket);
      runtime.after(PROBE_MS, () => probe(socket));
    },
    ended: (deadlineMs) =>
      new Promise((resolve) => {
        const done = () => {
          timer.cancel();
          waiting.delete(done);
          resolve(open.size === 0);
        };
        const timer = runtime.after(deadlineMs, done, { keepAlive: true }); // what is waited for may be nobody's any more
        waiting.add(done);
        if (open.size === 0) done();
      }),
  };
}

function isEventStream(response: ServerResponse): boolean {
  return response.getHeader("content-type") === streamHeaders["content-type"] && !response.writableEnded;
}
