import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { Runtime } from "../runtime/runtime.js";
import { refuse, TOO_SLOW } from "./client-error.js";

/**
 * Bounds how long the body of an HTTP/2 request may take to arrive, as Node's own server does for HTTP/1.1: a request whose body doesn't
 * come is refused, and what still comes after an answer isn't waited for. An answer that is on its way is never cut, however long it
 * takes: both sides of such a call may be streams.
 */
export function refuseWhenLate(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  runtime: Runtime,
  timeoutMs: number,
): void {
  const { stream } = response;
  if (stream.endAfterHeaders) return;
  let timer = runtime.after(timeoutMs, late);
  const settle = () => timer.cancel();
  request.once("end", settle);
  stream.once("close", settle);

  function late(): void {
    if (!response.headersSent) refuse(request, response, TOO_SLOW, runtime);
    else if (stream.writableFinished) stream.close(constants.NGHTTP2_NO_ERROR);
    else timer = runtime.after(timeoutMs, late);
  }
}
