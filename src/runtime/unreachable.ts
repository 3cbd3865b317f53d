interface NetworkError {
  readonly said: string;
  /** Whether the request may have gone out before. */
  readonly mayBeSent?: boolean;
}

const timedOut = "connection timed out";
const selfSigned = "its certificate is self-signed";
const unknownIssuer = "nobody known has signed its certificate";
const noTls = "it doesn't speak TLS; try http instead of https";

/** By the `code` of Node's errors; `fetch` has none for a port that it never goes to. */
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

function networkErrorIn(error: unknown): NetworkError | undefined {
  for (let at: unknown = error, depth = 0; typeof at === "object" && at !== null && depth < MAX_CAUSES; depth++) {
    const code = "code" in at ? at.code : "message" in at ? at.message : undefined;
    if (typeof code === "string" && Object.hasOwn(NETWORK_ERRORS, code)) return NETWORK_ERRORS[code];
    at = "cause" in at ? at.cause : undefined;
  }
  return undefined;
}

function hostAndPort(url: string): string {
  if (!URL.canParse(url)) return url;
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
