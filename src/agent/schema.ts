import type { StandardSchemaV1 } from "@standard-schema/spec";

/** Any schema of zod, valibot, arktype … (standardschema.dev). */
export type Schema<I = unknown, O = I> = StandardSchemaV1<I, O>;
/** What one writes for a schema; anything where there is none. */
export type Written<S> = S extends StandardSchemaV1<infer I, unknown> ? I : unknown;
/** What a schema makes of what was written; `unknown` where there is none. */
export type Parsed<S> = S extends StandardSchemaV1<unknown, infer O> ? O : unknown;
