import type { JsonObject } from "@bufbuild/protobuf";

/** Who is asking. */
export interface Principal {
  /** `"anonymous"` where no authenticator is set. */
  readonly id: string;
  readonly tenant?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly claims?: JsonObject | undefined;
}

/** Who is asking where nobody has to say who they are. */
export const anonymous: Principal = { id: "anonymous" };

/** Who is asking, and how. Everything is optional; `{}` is a call. */
export interface Call {
  readonly principal?: Principal | undefined;
  readonly tenant?: string | undefined;
  /** Service parameters (§3.2.6), names in lower case. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** URIs of the extensions that the caller activates (`A2A-Extensions`). */
  readonly extensions?: readonly string[] | undefined;
  /** Resume a stream after this position. */
  readonly after?: string | undefined;
  /** Aborts when the caller goes away or gives up. The task goes on. */
  readonly signal?: AbortSignal | undefined;
}
