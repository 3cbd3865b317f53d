import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  createFileRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  fromBinary,
  getOption,
  hasOption,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { file_a2a_v1_a2a } from "../gen/a2a/v1/a2a_pb.js";
import { http } from "../gen/google/api/annotations_pb.js";
import { method_signature } from "../gen/google/api/client_pb.js";
import { field_behavior } from "../gen/google/api/field_behavior_pb.js";
import { HttpRuleSchema } from "../gen/google/api/http_pb.js";
import { file_lf_a2a_v1_a2a } from "../gen/lf/a2a/v1/a2a_pb.js";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);
const buf = (...args: string[]) => run(join(root, "node_modules/.bin/buf"), args, { cwd: root });
/** Complains with what differs. */
const breaking = (one: string, other: string) =>
  buf("breaking", one, "--against", other, "--exclude-imports").then(
    () => "",
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );

let temporary: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "contract-"));
});
afterAll(() => rm(temporary, { recursive: true }));

describe.each([
  { version: "1.0", image: "test/images/a2a-v1.binpb", path: "proto/lf/a2a/v1", file: file_lf_a2a_v1_a2a },
  { version: "0.3", image: "test/images/a2a-v0_3.binpb", path: "proto/a2a/v1", file: file_a2a_v1_a2a },
])("our contract of A2A $version", ({ image, path, file }) => {
  it("and the published one can stand in for each other on a wire", async () => {
    const ours = join(temporary, `${path.replaceAll("/", "-")}.binpb`);
    await buf("build", "--exclude-source-info", "--path", path, "-o", ours);
    expect(await breaking(ours, image)).toBe("");
    expect(await breaking(image, ours)).toBe("");
  });

  it("has the published routes, REQUIRED marks, JSON names, oneofs and deprecations", async () => {
    const published = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(join(root, image))));
    const theirs = published.getFile(`${path.replace("proto/", "")}/a2a.proto`);
    if (theirs === undefined) throw new Error("The image has no such file");
    const facts = factsOf(theirs);
    expect(Object.keys(facts).length).toBeGreaterThan(100);
    expect(factsOf(file)).toEqual(facts);
  });
});

it("buf says so when a contract breaks", async () => {
  expect(await breaking("test/images/a2a-v1.binpb", "test/images/a2a-v0_3.binpb")).not.toBe("");
});

/** All that callers rely on and that `buf breaking` doesn't look at, by the full name of what it belongs to. */
function factsOf(file: DescFile): Record<string, JsonValue> {
  const facts: Record<string, JsonValue> = {};
  const messages = (all: readonly DescMessage[]): DescMessage[] =>
    all.flatMap((message) => [message, ...messages(message.nestedMessages)]);
  for (const message of messages(file.messages)) {
    facts[message.typeName] = message.deprecated;
    for (const field of message.fields) facts[`${message.typeName}.${field.name}`] = fieldFacts(field);
  }
  for (const service of file.services) {
    for (const method of service.methods) facts[`${service.typeName}.${method.name}`] = methodFacts(method);
  }
  for (const { typeName, values } of file.enums) {
    facts[typeName] = values.map(({ name, number, deprecated }) => [name, number, deprecated]);
  }
  return facts;
}

function fieldFacts(field: DescField): JsonValue {
  return {
    type: field.toString(),
    kind: [field.fieldKind, field.scalar ?? null, field.message?.typeName ?? field.enum?.typeName ?? null],
    number: field.number,
    jsonName: field.jsonName,
    oneof: field.oneof?.name ?? null,
    presence: field.presence,
    deprecated: field.deprecated,
    behavior: hasOption(field, field_behavior) ? getOption(field, field_behavior) : [],
  };
}

function methodFacts(method: DescMethod): JsonValue {
  return {
    kind: [method.methodKind, method.input.typeName, method.output.typeName],
    http: hasOption(method, http) ? toJson(HttpRuleSchema, getOption(method, http)) : null,
    unknownHttp: hasOption(method, http) ? (getOption(method, http).$unknown?.length ?? 0) : 0,
    signature: getOption(method, method_signature),
    deprecated: method.deprecated,
  };
}
