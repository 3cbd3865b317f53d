import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { MessageView } from "../a2a/content.js";
import type { Parsed, Written } from "./schema.js";

/** An extension (§4.6), declared on the card of the agent that lists it. */
export interface Extension<In = never, Out = unknown> {
  readonly uri: string;
  readonly description: string;
  readonly required: boolean;
  readonly params: JsonObject | undefined;
  /** The value under this extension's URI, checked; `undefined` if there is none. @throws TypeError when it doesn't fit the schema. */
  read(source: { readonly metadata?: JsonObject | undefined } | MessageView): Out | undefined;
  /** Facts to put beside a content: its URI and the value. */
  write(value: In): { extensions: readonly string[]; metadata: JsonObject };
}

/** Declares an extension; its metadata is typed by `schema`, which must be synchronous. */
export function extension<S extends StandardSchemaV1 = StandardSchemaV1<JsonValue>>(definition: {
  uri: string;
  description: string;
  /** Default false. True: calls that don't activate it are refused (§3.3.4). */
  required?: boolean | undefined;
  params?: JsonObject | undefined;
  schema?: S | undefined;
}): Extension<Written<S>, Parsed<S>> {
  const { uri, description, required = false, params, schema } = definition;
  if (uri === "") throw new TypeError("An extension needs a uri");
  return {
    uri,
    description,
    required,
    params,
    read(source) {
      const metadata = "message" in source ? source.message.metadata : source.metadata;
      const value = metadata === undefined || !Object.hasOwn(metadata, uri) ? undefined : metadata[uri];
      return value === undefined ? undefined : (checked(schema, value, uri) as Parsed<S>);
    },
    write: (value) => ({ extensions: [uri], metadata: { [uri]: value as JsonValue } }),
  };
}

function checked(schema: StandardSchemaV1 | undefined, value: unknown, uri: string): unknown {
  if (schema === undefined) return value;
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) throw new TypeError(`The schema of ${uri} must be synchronous`);
  if (result.issues !== undefined)
    throw new TypeError(
      `The metadata under ${uri} doesn't fit: ${result.issues.map(({ message }) => message).join("; ")}`,
    );
  return result.value;
}
