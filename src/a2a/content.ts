import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Principal } from "./call.js";
import { readBase64 } from "./codec-scalars.js";
import { fromValue, toValue } from "./codec-wkt.js";
import type { Violation } from "./errors.js";
import { mediaTypeOfFile } from "./media-type.js";
import { plainJson } from "./plain-json.js";
import { type Artifact, type Message, type Part, PartSchema, Role, type Task } from "./types.js";
import { isWellFormed } from "./unknown-json.js";

/** A part as ProtoJSON writes it (§4.1.6): exactly one of `text`, `data`, `url`, `raw`, and what describes it. */
export type PartInput<D = unknown> = {
  filename?: string | undefined;
  /** Default of `url` and `raw`: from `filename`; `raw` without one is `application/octet-stream`. Text and data need none. */
  mediaType?: string | undefined;
  metadata?: JsonObject | undefined;
} & (
  | { text: string; data?: never; url?: never; raw?: never }
  /** Any JSON value. What JSON can't carry back (Date, Map, undefined in an array …) is refused with its path. */
  | { data: D; text?: never; url?: never; raw?: never }
  | { url: string; text?: never; data?: never; raw?: never }
  /** Bytes, or base64 as in ProtoJSON. */
  | { raw: Uint8Array | string; text?: never; data?: never; url?: never }
);

/**
 * What is said: a string, a part, several, or anything that has `parts` (a Message, an Artifact, `task.input`, a `Reply`), of which the
 * parts are taken and nothing else. Facts (a name, metadata, ids) go beside it, in the second argument.
 */
export type Content<D = unknown> =
  | string
  | PartInput<D>
  | Part
  | readonly (string | PartInput<D> | Part)[]
  | { readonly parts: readonly (PartInput<D> | Part)[] };

/** A reading of parts. The generated messages stay the domain types; this is how one reads them without walking oneofs. */
export interface ContentView<D = unknown> {
  readonly parts: readonly Part[];
  /** All text parts: a message's with a line break between them, an artifact's as they are. `""` when there is none. */
  readonly text: string;
  /** The first data part as plain JSON; with a schema, what the schema made of it (of the text, if there is no data part). */
  readonly data: D;
  /** The `url` and `raw` parts. */
  readonly files: readonly Part[];
}

/** A Message, read. */
export interface MessageView<D = unknown> extends ContentView<D> {
  readonly message: Message;
  readonly role: "user" | "agent";
  /** Who wrote it. It was written by somebody else: material, never an instruction to the server. */
  readonly from: Principal;
}

/** Facts about a message that go beside its content. */
export interface MessageFacts {
  metadata?: JsonObject | undefined;
  extensions?: readonly string[] | undefined;
}

/** Facts about an artifact that go beside its content. */
export interface ArtifactFacts extends MessageFacts {
  /** Default: the task's next `artifact-<n>`; with `append`, the artifact that was written last. */
  artifactId?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
  /** Default false: creates or replaces. True: adds parts to what is there (§4.2.2). */
  append?: boolean | undefined;
  /** Default false. True: nothing will be appended to it. */
  lastChunk?: boolean | undefined;
}

/**
 * The parts of a content; none for an empty list. They are the content's no more: what its owner does with it later changes nothing.
 * @throws TypeError with the path of what isn't a part, or of what no wire can carry.
 */
export function partsOf(content: Content): Part[] {
  if (typeof content === "object" && content !== null && "parts" in content) return partsOf(content.parts);
  if (isList(content)) return content.map((part, index) => partOf(part, `content[${index}]`));
  return [partOf(content, "content")];
}

function isList(content: Content): content is Extract<Content, readonly unknown[]> {
  return Array.isArray(content);
}

function partOf(part: string | PartInput | Part, path: string): Part {
  if (typeof part === "string") return create(PartSchema, { content: { case: "text", value: textOf(part, path) } });
  if (typeof part !== "object" || part === null) throw new TypeError(`${path} must be a string or a part`);
  if ("$typeName" in part) {
    if (part.$typeName !== PartSchema.typeName) throw new TypeError(`${path} is a ${part.$typeName}, not a part`);
    return copyOf(part, path);
  }
  return create(PartSchema, {
    content: choiceOf(part, path),
    filename: textOf(part.filename ?? "", `${path}.filename`),
    mediaType: textOf(part.mediaType ?? mediaTypeIn(part), `${path}.mediaType`),
    ...(part.metadata === undefined ? {} : { metadata: plainObject(part.metadata, `${path}.metadata`) }),
  });
}

/** A message that somebody made by hand may hold anything. */
function copyOf(part: Part, path: string): Part {
  try {
    if (part.content.case === undefined) throw new TypeError("it has no content");
    if (part.content.case === "text") textOf(part.content.value, path);
    return fromBinary(PartSchema, toBinary(PartSchema, part));
  } catch (cause) {
    throw new TypeError(`${path} isn't a valid part: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function choiceOf(part: PartInput, path: string): Exclude<Part["content"], { case: undefined }> {
  // Types say "exactly one"; whoever writes JavaScript, or reads parts from somewhere, is told here.
  const given = (["text", "data", "url", "raw"] as const).filter((name) => part[name] !== undefined);
  if (given.length !== 1) {
    throw new TypeError(`${path} must have exactly one of text, data, url, raw, not ${given.join(" and ") || "none"}`);
  }
  if (part.text !== undefined) return { case: "text", value: textOf(part.text, `${path}.text`) };
  if (part.url !== undefined) return { case: "url", value: textOf(part.url, `${path}.url`) };
  if (part.raw !== undefined) return { case: "raw", value: bytesOf(part.raw, `${path}.raw`) };
  return { case: "data", value: toValue(plainJson(part.data, `${path}.data`)) };
}

function textOf(text: unknown, path: string): string {
  if (typeof text !== "string") throw new TypeError(`${path} must be a string`);
  if (!isWellFormed(text)) throw new TypeError(`${path} holds half of a surrogate pair: don't cut within a character`);
  return text;
}

function bytesOf(raw: unknown, path: string): Uint8Array {
  const bytes = typeof raw === "string" ? readBase64(raw) : raw;
  if (!(bytes instanceof Uint8Array)) throw new TypeError(`${path} must be bytes or base64`);
  return Uint8Array.from(bytes);
}

/** Facts about an artifact or a message, as a copy. @throws TypeError with the name of what can't be one. */
export function factsOf<F extends ArtifactFacts>(facts: F): F {
  const { artifactId, name, description, metadata, extensions } = facts;
  if (artifactId !== undefined && textOf(artifactId, "artifactId") === "") throw new TypeError("artifactId is empty");
  if (name !== undefined) textOf(name, "name");
  if (description !== undefined) textOf(description, "description");
  return {
    ...facts,
    ...(metadata === undefined ? {} : { metadata: plainObject(metadata, "metadata") }),
    ...(extensions === undefined
      ? {}
      : { extensions: extensions.map((uri, index) => textOf(uri, `extensions[${index}]`)) }),
  };
}

function plainObject(value: unknown, path: string): JsonObject {
  const copy = plainJson(value, path);
  if (typeof copy !== "object" || copy === null || Array.isArray(copy))
    throw new TypeError(`${path} must be an object`);
  return copy;
}

function mediaTypeIn(part: PartInput): string {
  if (part.url === undefined && part.raw === undefined) return "";
  return mediaTypeOfFile(part.filename ?? "") ?? (part.raw === undefined ? "" : "application/octet-stream");
}

/** Reads the parts of a message, of an artifact, or of all artifacts of a task. */
export function contentOf(source: Message | Artifact | Task | readonly Part[]): ContentView {
  if (!("$typeName" in source)) return read(source, "\n");
  switch (source.$typeName) {
    case "lf.a2a.v1.Task":
      return read(
        source.artifacts.flatMap((artifact) => artifact.parts),
        "",
      );
    case "lf.a2a.v1.Artifact":
      return read(source.parts, ""); // its parts are pieces: they were appended as they came
    case "lf.a2a.v1.Message":
      return read(source.parts, "\n");
  }
}

function read(parts: readonly Part[], separator: string): ContentView {
  const texts: string[] = [];
  const files: Part[] = [];
  let data: Part["content"] | undefined;
  for (const part of parts) {
    const { content } = part;
    if (content.case === "text") texts.push(content.value);
    else if (content.case === "data") data ??= content;
    else if (content.case !== undefined) files.push(part);
  }
  return { parts, text: texts.join(separator), data: data?.case === "data" ? fromValue(data.value) : undefined, files };
}

/** Reads a message that `from` wrote. */
export function messageView(message: Message, from: Principal): MessageView {
  const { parts, text, data, files } = contentOf(message);
  return { parts, text, data, files, message, role: message.role === Role.AGENT ? "agent" : "user", from };
}

/** What a schema says of a content. */
export type Judged<T> =
  | { readonly value: T; readonly issues?: undefined }
  /** What is wrong, with paths from the message on: `message.parts[0].data.amount`. */
  | { readonly issues: readonly Violation[] };

/** Judges the first data part, or else the text, by a schema (standardschema.dev). */
export async function judge<T>(schema: StandardSchemaV1<unknown, T>, view: ContentView): Promise<Judged<T>> {
  const index = view.parts.findIndex(({ content }) => content.case === "data");
  const result = await schema["~standard"].validate(index === -1 ? view.text : view.data);
  if (result.issues === undefined) return { value: result.value };
  const at = index === -1 ? "message.parts" : `message.parts[${index}].data`;
  return {
    issues: result.issues.map(({ message, path = [] }) => ({
      path: path.reduce<string>((before, step) => before + stepOf(step), at),
      rule: "SCHEMA",
      description: message,
      section: "§4.1.6",
    })),
  };
}

function stepOf(step: PropertyKey | StandardSchemaV1.PathSegment): string {
  const key = typeof step === "object" ? step.key : step;
  if (typeof key === "number") return `[${key}]`;
  const name = String(key);
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
