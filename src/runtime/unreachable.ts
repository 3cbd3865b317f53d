interface NetworkError {
  readonly said: string;
  /** Whether the request may have gone out before. */
  readonly mayBeSent?: boolean;
}

const timedOut = "connection timed out";
const selfSigned = "its certificate is self-signed";
const unknownIssuer = "nobody known has signed its certificate";
const noTls = "it doesn't speak TLS; try http instead of https";

/** What Node says of a request that the peer has refused without looking at it (RFC 9113 §8.7). */
const REFUSED_STREAM = "Stream closed with error code NGHTTP2_REFUSED_STREAM";

/** By the `code` of Node's errors, or what they say where that is more. */
const NETWORK_ERRORS: Readonly<Record<string, NetworkError>> = {
  ECONNREFUSED: { said: "connection refused" },
  ENOTFOUND: { said: "no such host" },
  EAI_AGAIN: { said: "the host's name can't be looked up now" },
  EHOSTUNREACH: { said: "no route to the host" },
  ENETUNREACH: { said: "no route to its network" },
  ETIMEDOUT: { said: timedOut, mayBeSent: true },
  UND_ERR_CONNECT_TIMEOUT: { said: timedOut },
  ECONNRESET: { said: "connection reset", mayBeSent: true },
  UND_ERR_SOCKET: { said: "connection closed", mayBeSent: true },
  DEPTH_ZERO_SELF_SIGNED_CERT: { said: selfSigned },
  SELF_SIGNED_CERT_IN_CHAIN: { said: selfSigned },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { said: unknownIssuer },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { said: unknownIssuer },
  CERT_HAS_EXPIRED: { said: "its certificate has expired" },
  CERT_NOT_YET_VALID: { said: "its certificate isn't valid yet" },
  ERR_TLS_CERT_ALTNAME_INVALID: { said: "its certificate is for another host" },
  ERR_SSL_WRONG_VERSION_NUMBER: { said: noTls },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: { said: noTls },
  ERR_INVALID_URL: { said: "that is no URL" },
  "bad port": { said: "bad port: no client goes there" },
  [REFUSED_STREAM]: { said: "it takes no more requests over this connection" },
};
/** How deep causes are looked through: `fetch` and Connect wrap what the socket said. */
const MAX_CAUSES = 8;

/** "Can't reach example.org:443: connection refused", if that is what an error, or one of its causes, comes to. */
export function unreachable(error: unknown, url: string): string | undefined {
  const found = networkErrorIn(error);
  return found && `Can't reach ${hostAndPort(url)}: ${found.said}`;
}

/** Whether an error says that nothing ever reached the peer. */
export function neverConnected(error: unknown): boolean {
  const found = networkErrorIn(error);
  return found !== undefined && found.mayBeSent !== true;
}

/** Whether an error says that the peer refused a request without looking at it. */
export function refusedStream(error: unknown): boolean {
  return networkErrorIn(error) === NETWORK_ERRORS[REFUSED_STREAM];
}

function networkErrorIn(error: unknown): NetworkError | undefined {
  for (let at: unknown = error, depth = 0; typeof at === "object" && at !== null && depth < MAX_CAUSES; depth++) {
    const known = [textIn(at, "code"), textIn(at, "message")].find((text) => Object.hasOwn(NETWORK_ERRORS, text));
    if (known !== undefined) return NETWORK_ERRORS[known];
    at = "cause" in at ? at.cause : undefined;
  }
  return undefined;
}

function textIn(error: object, member: "code" | "message"): string {
  const value = (error as Record<string, unknown>)[member];
  return typeof value === "string" ? value : "";
}

function hostAndPort(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
