import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type AnyRequest, type AnyResponse, isHttp2 } from "../bindings/rpc-binding.js";
import { HEARTBEAT, streamHeaders } from "../bindings/sse.js";
import { Bag } from "../runtime/bag.js";
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
  let open = 0;
  /** By connection: HTTP/1.1 has one answer after the other, or a few where a client doesn't wait. */
  const onSocket = new WeakMap<Duplex, Bag<ServerResponse>>();
  const waiting = new Set<() => void>();

  function ofSocket(socket: Duplex): Bag<ServerResponse> {
    const known = onSocket.get(socket);
    if (known !== undefined) return known;
    const made = new Bag<ServerResponse>();
    onSocket.set(socket, made);
    return made;
  }

  function add(request: AnyRequest, response: AnyResponse): void {
    open++;
    const responses = isHttp2(response) ? undefined : ofSocket(request.socket);
    const place = isHttp2(response) ? undefined : responses?.add(response);
    response.once("close", () => {
      open--;
      if (place !== undefined) responses?.remove(place);
      if (open === 0) for (const done of waiting) done();
    });
  }

  /**
   * A FIN may mean "that was my request" or "I am gone"; only writing tells. An event stream takes a comment, an answer that hasn't begun
   * an interim response where HTTP/1.1 has one; a stream that has begun and takes no comment (Connect) is given up.
   */
  function probe(socket: Duplex): void {
    onSocket.get(socket)?.each((response) => {
      if (!response.headersSent && response.req.httpVersion === "1.1") response.writeProcessing();
      else if (isEventStream(response)) response.write(HEARTBEAT);
      else if (response.headersSent && !response.writableEnded) socket.destroy();
    });
  }

  return {
    add,
    has(socket) {
      let has = false;
      onSocket.get(socket)?.each(({ req, headersSent }) => {
        has ||= req.complete || headersSent;
      });
      return has;
    },
    probe(socket) {
      probe(socket);
      runtime.after(PROBE_MS, () => probe(socket));
    },
    ended: (deadlineMs) =>
      new Promise((resolve) => {
        const done = () => {
          timer.cancel();
          waiting.delete(done);
          resolve(open === 0);
        };
        const timer = runtime.after(deadlineMs, done, { keepAlive: true }); // what is waited for may be nobody's any more
        waiting.add(done);
        if (open === 0) done();
      }),
  };
}

function isEventStream(response: ServerResponse): boolean {
  return response.getHeader("content-type") === streamHeaders["content-type"] && !response.writableEnded;
}
