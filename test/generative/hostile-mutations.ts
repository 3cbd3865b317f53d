import { RESUME_EXTENSION } from "../../src/a2a/our-names.js";
import type { Request } from "./hostile-corpus.js";
import type { Random } from "./random.js";

type BytesMutation = (bytes: Buffer, random: Random, others: readonly Buffer[]) => Buffer;

const OVERLONG_VARINT = Buffer.alloc(12, 0xff);
/** Field 1 as bytes that say they are two gigabytes; a group that never ends; a wire type that isn't there. */
const PROTOBUF = [
  OVERLONG_VARINT,
  Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]),
  Buffer.from([0x0b]),
  Buffer.from([0x0f, 0x01]),
  Buffer.from([0x00, 0x00]),
  nestedStruct(150),
  nestedStruct(3_000),
];
const JSON_TOKENS = [
  "1e999",
  "-1e999",
  "-0",
  "123456789012345678901234567890",
  "0.1e-999",
  "1E400",
  "NaN",
  "null",
  "true",
  "{}",
  "[]",
  '""',
  '"\\ud800"',
  '"\\u0000"',
  '"a\\u0000b"',
  '{"__proto__":{"x":1}}',
  '{"constructor":{"prototype":1}}',
  '"99999999999999999999"',
  '"2026-13-45T99:99:99Z"',
  '"TASK_STATE_"',
  "2147483648",
  "[null]",
  '[["a"]]',
  '{"a":1,"a":2}',
  "/* */",
  "'x'",
  "+1",
  "01",
  ".5",
  `${"[".repeat(60)}${"]".repeat(60)}`,
  `${'{"a":'.repeat(60)}1${"}".repeat(60)}`,
  "[".repeat(9_000),
  '"'.concat("x".repeat(70_000), '"'),
];
const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|[{}[\],:]/g;

const ofBytes: readonly (readonly [weight: number, name: string, mutate: BytesMutation])[] = [
  [5, "flip bits", (bytes, random) => flip(bytes, random, 1 + random.below(4))],
  [3, "truncate", (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1))],
  [2, "drop a slice", (bytes, random) => splice(bytes, random, Buffer.alloc(0))],
  [2, "duplicate a slice", (bytes, random) => insert(bytes, random, slice(bytes, random))],
  [3, "splice another", (bytes, random, others) => splice(bytes, random, slice(random.maybe(others) ?? bytes, random))],
  [
    2,
    "insert bytes",
    (bytes, random) =>
      insert(bytes, random, Buffer.from(Array.from({ length: 1 + random.below(9) }, () => random.below(256)))),
  ],
  [2, "repeat it", (bytes, random) => Buffer.concat(Array.from({ length: 2 + random.below(3) }, () => bytes))],
  [
    1,
    "much of nothing",
    (bytes, random) =>
      insert(bytes, random, Buffer.alloc(1 + random.below(100_000), random.pick([0, 0x20, 0xff, 0x5b]))),
  ],
  [3, "odd protobuf", (bytes, random) => insert(bytes, random, random.pick(PROTOBUF))],
  [2, "another length", (bytes, random) => otherLength(bytes, random)],
  [6, "another JSON token", (bytes, random) => otherToken(bytes, random)],
];

/** What a head is changed to: names and values that somebody reads. Raw, so that they may break HTTP itself. */
const HEADERS: readonly (readonly [name: string, ...values: string[]])[] = [
  [
    "content-type",
    "",
    "application/json",
    "application/a2a+json",
    "application/grpc",
    "application/grpc+json",
    "application/grpc-web-text",
    "application/connect+json",
    "application/proto",
    "text/html",
    "application/json; charset=utf-16",
    "multipart/form-data; boundary=x",
    ";;;",
    "application/",
  ],
  ["content-length", "0", "1", "-1", "99999999999999999999", "1e3", "5, 5", "17000000", "abc", ""],
  ["transfer-encoding", "chunked", "gzip, chunked", "identity", "chunked, chunked", "xchunked"],
  ["content-encoding", "gzip", "br", "identity", "nope"],
  ["connect-content-encoding", "gzip", "nope"],
  ["grpc-encoding", "gzip", "identity", "nope"],
  ["grpc-timeout", "0n", "1S", "soon", "99999999999H", "-1S", ""],
  ["connect-timeout-ms", "0", "10000", "soon", "-1", "99999999999999"],
  ["connect-protocol-version", "1", "2", ""],
  ["a2a-version", "", "0.3", "1.0.7", "1.0, 0.3", "2", "99999999999999999999.0", "ä", "1.0,1.0", "__proto__"],
  ["a2a-extensions", "x,,y", ",".repeat(2_000), "u".repeat(9_000), RESUME_EXTENSION, "\x00"],
  ["last-event-id", "1", "0", "-1", "99999999999999999999", "x", "1e3", "\xff"],
  ["accept", "*/*", "text/html", "application/json;q=0", "a/b;q=x", ",,,", "*"],
  ["accept-encoding", "gzip", "*;q=0", ""],
  ["te", "trailers", "chunked"],
  ["connection", "close", "keep-alive", "upgrade", "content-length", "te, close"],
  ["upgrade", "h2c", "websocket"],
  ["expect", "100-continue", "200-ok"],
  ["host", "", "a b", "a@b:99999", "[::1", "x".repeat(300)],
  ["authorization", "Bearer x", "Basic", "=", "x".repeat(9_000)],
  ["x-user", "ann", "", "\x80"],
  ["origin", "null", "https://a.example"],
  ["x-forwarded-proto", "javascript", "https"],
  ["cookie", "a=b".repeat(1_000)],
];
const METHODS = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PRI", "post", "QUERY", ""];
const PATHS = [
  "%",
  "%00",
  "%ff",
  "/..",
  "//",
  "?",
  "?A2A-Version=0.3",
  "?pageSize=1&pageSize=2",
  "#",
  ":cancel",
  ":subscribe",
  "%2f",
  "é",
  "/tasks",
  "*",
  "x".repeat(9_000),
  "?__proto__=1&constructor[a]=2",
  " ",
  "%E0%A4%A",
];

/** The request with one to three things changed, and what was. */
export function mutated(
  request: Request,
  random: Random,
  corpus: readonly Request[],
): { readonly request: Request; readonly how: string } {
  const how: string[] = [];
  let changed = request;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const inBody = random.chance(0.65);
    const [name, next] = inBody ? withOtherBody(changed, random, corpus) : withOtherHead(changed, random);
    changed = next;
    how.push(name);
  }
  return { request: changed, how: how.join(", ") };
}

function withOtherBody(request: Request, random: Random, corpus: readonly Request[]): [string, Request] {
  const [, name, mutate] = random.weighted(ofBytes);
  return [
    name,
    {
      ...request,
      body: mutate(
        request.body,
        random,
        corpus.map(({ body }) => body),
      ),
    },
  ];
}

function withOtherHead(request: Request, random: Random): [string, Request] {
  const way = random.below(10);
  if (way === 0) return ["another method", { ...request, method: random.pick(METHODS) }];
  if (way <= 3) return ["another path", { ...request, path: otherPath(request.path, random) }];
  if (way === 4) return ["a header less", { ...request, headers: request.headers.filter(() => random.chance(0.6)) }];
  const [name, ...values] = random.pick(HEADERS);
  const others = random.chance(0.7) ? request.headers.filter(([one]) => one !== name) : request.headers;
  return [`another ${name}`, { ...request, headers: [...others, [name, random.pick(values)]] }];
}

function otherPath(path: string, random: Random): string {
  const at = random.below(path.length + 1);
  return random.chance(0.5)
    ? `${path.slice(0, at)}${random.pick(PATHS)}${path.slice(at)}`
    : `${path}${random.pick(PATHS)}`;
}

/** Bytes of a connection, with something changed anywhere in them. */
export function mutatedBytes(
  bytes: Buffer,
  random: Random,
  others: readonly Buffer[],
): { readonly bytes: Buffer; readonly how: string } {
  const [, name, mutate] = random.weighted(ofBytes);
  return { bytes: mutate(bytes, random, others), how: `${name} of the connection` };
}

function flip(bytes: Buffer, random: Random, times: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let time = 0; time < times && copy.length > 0; time++) {
    const at = random.below(copy.length);
    copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
  }
  return copy;
}

function slice(bytes: Buffer, random: Random): Buffer {
  const from = random.below(bytes.length + 1);
  return bytes.subarray(from, from + random.below(bytes.length - from + 1));
}

function insert(bytes: Buffer, random: Random, more: Uint8Array): Buffer {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
}

function splice(bytes: Buffer, random: Random, more: Uint8Array): Buffer {
  const from = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, from), more, bytes.subarray(from + random.below(bytes.length - from + 1))]);
}

/** Where an envelope has its length, or near there. */
function otherLength(bytes: Buffer, random: Random): Buffer {
  if (bytes.length < 5) return bytes;
  const copy = Buffer.from(bytes);
  copy.writeUInt32BE(random.pick([0, 1, bytes.length, 2 ** 24 + 1, 2 ** 31, 2 ** 32 - 1]), random.chance(0.8) ? 1 : 0);
  if (random.chance(0.3)) copy[0] = random.below(256);
  return copy;
}

function otherToken(bytes: Buffer, random: Random): Buffer {
  const text = bytes.toString("latin1"); // byte by byte
  const token = random.maybe([...text.matchAll(JSON_TOKEN)]);
  if (token === undefined) return insert(bytes, random, Buffer.from(random.pick(JSON_TOKENS)));
  const changed = `${text.slice(0, token.index)}${random.pick(JSON_TOKENS)}${text.slice(token.index + token[0].length)}`;
  return Buffer.from(changed, "latin1");
}

/** Bytes of a `google.protobuf.ListValue` in a `Value`, so many times within each other, as field 4 of a Part has one. */
function nestedStruct(levels: number): Buffer {
  let bytes = Buffer.from([0x08, 0x00]);
  for (let level = 0; level < levels; level++) {
    bytes = Buffer.concat([Buffer.from([0x0a]), varint(bytes.length), bytes]); // ListValue.values
    bytes = Buffer.concat([Buffer.from([0x32]), varint(bytes.length), bytes]); // Value.list_value
  }
  return Buffer.concat([Buffer.from([0x22]), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 0x80);
  }
}
