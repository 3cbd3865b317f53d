import { create, fromBinary, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { BAD_REQUEST, ERROR_INFO } from "../a2a/errors.js";

/** The details of an error of gRPC as ProtoJSON, those of a known type. `undefined` where they can't be read. */
export function statusDetails(base64: string | undefined): JsonObject[] | undefined {
  if (base64 === undefined) return [];
  try {
    const { details } = fromBinary(StatusSchema, Buffer.from(base64, "base64"));
    return details.map(({ typeUrl, value }) => rpcDetail(typeUrl, value)).filter((one) => one !== undefined);
  } catch {
    return undefined;
  }
}

/** One detail as ProtoJSON; `undefined` if its type isn't known. @throws Error when it can't be read. */
export function rpcDetail(typeUrl: string, bytes: Uint8Array): JsonObject | undefined {
  if (typeUrl === ERROR_INFO) return read(typeUrl, ErrorInfoSchema, bytes);
  return typeUrl === BAD_REQUEST ? read(typeUrl, BadRequestSchema, bytes) : undefined;
}

function read<M extends Message>(type: string, schema: GenMessage<M>, bytes: Uint8Array): JsonObject {
  const json = toJson(schema, bytes.length === 0 ? create(schema) : fromBinary(schema, bytes)) as JsonObject;
  return { "@type": type, ...json };
}
