import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { type Operation, operationOf } from "../../a2a/operation.js";
import { A2AService } from "../../a2a/types.js";
import { v1 } from "../../a2a/v1.js";

/** A gRPC service through which one version of A2A is spoken, as data. */
export interface GrpcService {
  readonly service: DescService;
  /** `Major.Minor`. The service's package names it too, so callers need not. */
  readonly version: string;
  readonly methods: readonly GrpcMethod[];
}

/** The operation behind a method, and how its messages are those of 1.0. */
export interface GrpcMethod {
  readonly method: DescMethod;
  readonly operation: Operation;
  /** @throws A2AError INVALID_PARAMS. */
  request(message: Message): Message;
  response(message: Message): Message;
}

/** A2A 1.0 (§10), derived from its descriptor. */
export const v1Service: GrpcService = {
  service: A2AService,
  version: v1.id,
  methods: A2AService.methods.map((method) => ({
    method,
    operation: operationOf(method),
    request: (message) => message,
    response: (message) => message,
  })),
};
