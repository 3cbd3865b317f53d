import { setMaxListeners } from "node:events";
import type { Http2ServerRequest } from "node:http2";
import { Code, type ConnectRouter, createConnectRouter, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import type { BindingContext } from "../binding.js";
import { type AnyRequest, type AnyResponse, isHttp2, type RpcBinding } from "../rpc-binding.js";
import { addHealth } from "./health.js";
import { mended } from "./mended.js";
import { addOperations, binary, hostRequest, json } from "./operations.js";
import { addReflection } from "./reflection.js";
import { type GrpcService, v1Service } from "./service.js";

const GRPC_MESSAGE = "grpc-message";
const GRPC_STATUS = "grpc-status";
const UNKNOWN_HOST = "unknown.invalid";
/** More than any request may nest: what is too deep is judged, and named, where every other violation is. */
const RECURSION_LIMIT = 1_000;

/** What is served beside health. */
export interface GrpcOptions {
  /** Default: A2A 1.0. */
  readonly services?: readonly GrpcService[] | undefined;
  /** Serve the reflection service. Default true. */
  readonly reflection?: boolean | undefined;
}

/** The gRPC binding (§10), and with it gRPC-Web and Connect (§12) in protobuf and in JSON, the standard health service, and reflection. */
export function createGrpcBinding(context: BindingContext, options: GrpcOptions = {}): RpcBinding {
  const { services = [v1Service], reflection = true } = options;
  const names = new Set([...services.map(({ service }) => service.typeName), Health.typeName]);
  if (reflection) names.add(ServerReflection.typeName);

  setMaxListeners(0, context.draining); // one a stream is no leak
  const inBinary = createRouter(context);
  const inJson = createRouter(context);
  for (const service of services) {
    addOperations(inBinary, context, service, binary);
    addOperations(inJson, context, service, json);
  }
  for (const router of [inBinary, inJson]) {
    addHealth(router, names, context.draining);
    if (reflection) addReflection(router, context, [...services.map(({ service }) => service), Health]);
  }
  const find = { binary: byPath(inBinary), json: byPath(inJson) };

  async function answer(request: AnyRequest, response: AnyResponse): Promise<void> {
    const type = request.headers["content-type"] ?? "";
    const path = pathOf(request.url ?? "");
    const handler = (/[/+]json\b/i.test(type) ? find.json : find.binary).get(path);
    if (handler === undefined) return answerUnknown(type, response);
    const values = createContextValues().set(hostRequest, {
      remoteAddress: request.socket.remoteAddress ?? "",
      original: request,
    });
    (isHttp2(response) ? response.stream : response).once("finish", () => readOn(request));
    const universal = {
      ...universalRequestFromNodeRequest(withUrl(request, path), response, undefined, values),
      // Whoever stops reading a body that is too large must still be able to answer.
      body: request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>,
    };
    await universalResponseToNodeResponse(await mended(await handler(universal)), response);
  }

  return {
    owns: (path) => {
      const end = path.indexOf("/", 1);
      return end > 0 && names.has(path.slice(1, end));
    },
    handle(request, response) {
      answer(request, response).catch((error: unknown) => {
        // What a handler throws is an answer already. This is a caller who went away in the middle of it, or never was one.
        context.logger.debug({ err: error }, "An answer could not be delivered");
        response.destroy();
      });
    },
  };
}

function createRouter({ maxBodyBytes }: BindingContext): ConnectRouter {
  return createConnectRouter({
    readMaxBytes: maxBodyBytes,
    acceptCompression: [compressionGzip],
    binaryOptions: { recursionLimit: RECURSION_LIMIT },
  });
}

function byPath({ handlers }: ConnectRouter): ReadonlyMap<string, UniversalHandler> {
  return new Map(handlers.map((handler) => [handler.requestPath, handler]));
}

/** Of a target in origin or absolute form. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, "").replace(/[?#].*$/, "");
}

/** What nobody reads of a refused request is in the way of the connection's next one. */
function readOn(request: AnyRequest): void {
  request.removeAllListeners("readable"); // of whoever read until then, and would be asked for each piece
  request.resume();
}

/** A caller may send any host and any target; where they make no URL, the path is all that is left of them. */
function withUrl(request: AnyRequest, path: string): AnyRequest {
  const { headers, url = "" } = request;
  const authority = isHttp2Request(request) ? request.authority : headers.host;
  if (authority !== undefined && URL.canParse(url, `http://${authority}`)) return request;
  headers.host = UNKNOWN_HOST;
  if (isHttp2Request(request)) headers[":authority"] = UNKNOWN_HOST;
  request.url = path;
  return request;
}

function isHttp2Request(request: AnyRequest): request is Http2ServerRequest {
  return request.httpVersionMajor === 2;
}

/** "There is no such method", as the wire of that content type says it. */
function answerUnknown(type: string, response: AnyResponse): void {
  const message = "There is no such method here";
  const status = { [GRPC_STATUS]: String(Code.Unimplemented), [GRPC_MESSAGE]: message };
  if (type.startsWith("application/grpc-web")) {
    response.writeHead(200, { "content-type": type, ...status });
    response.end();
  } else if (type.startsWith("application/grpc")) {
    response.writeHead(200, { "content-type": type });
    response.addTrailers(status);
    response.end();
  } else {
    response.writeHead(404, { "content-type": "application/json" });
    response.end(JSON.stringify({ code: "unimplemented", message }));
  }
}
