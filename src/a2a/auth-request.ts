/** What an authenticator sees. `original` is the host's own request. */
export interface AuthRequest<R = unknown> {
  readonly headers: Headers;
  readonly url: URL;
  readonly remoteAddress: string;
  readonly original: R;
}
