import { create, fromBinary, type Message } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import {
  Health,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
} from "../gen/grpc/health/v1/health_pb.js";
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../gen/grpc/reflection/v1/reflection_pb.js";
import { A2AError } from "../src/a2a/errors.js";
import { A2AService } from "../src/a2a/types.js";
import { createReflectionIndex } from "../src/bindings/grpc/reflection-index.js";
import { type GrpcHost, readAll, startGrpc } from "./support/grpc.js";

let host: GrpcHost | undefined;
afterEach(async () => {
  await host?.close();
  host = undefined;
});
async function start(...args: Parameters<typeof startGrpc>): Promise<GrpcHost> {
  host = await startGrpc(...args);
  return host;
}
const nobody = {
  authenticate: async () => {
    throw new A2AError("UNAUTHENTICATED");
  },
};

describe("health", () => {
  const about = (service: string) => create(HealthCheckRequestSchema, { service });

  it("is public: the server and its services serve, others aren't there", async () => {
    const { client } = await start(nobody);
    const health = client(Health);
    for (const service of ["", "lf.a2a.v1.A2AService", "grpc.health.v1.Health"]) {
      expect(await health.unary("check", about(service))).toMatchObject({ status: Status.SERVING });
    }
    await expect(health.unary("check", about("no.such.Service"))).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it("a watch says what is, then what changes, and ends with the server", async () => {
    const { client, draining } = await start();
    const health = client(Health);
    const watches = ["", "no.such.Service"].map((service) => health.stream("watch", about(service)));
    const reading = watches.map(readAll);
    await Promise.all(watches.map((watch) => new Promise((resolve) => watch.once("readable", resolve))));
    draining.abort();
    const [known, unknown] = await Promise.all(reading);
    const statuses = (messages: readonly Message[] = []) =>
      messages.map((message) => (message as HealthCheckResponse).status);
    expect(statuses(known?.messages)).toEqual([Status.SERVING, Status.NOT_SERVING]);
    expect(statuses(unknown?.messages)).toEqual([Status.SERVICE_UNKNOWN]);
    expect(known?.error).toMatchObject({ code: status.UNAVAILABLE });
    expect(await health.unary("check", about(""))).toMatchObject({ status: Status.NOT_SERVING });
  });
});

describe("reflection", () => {
  const ask = async (
    ...questions: NonNullable<Parameters<typeof create<typeof ServerReflectionRequestSchema>>[1]>["messageRequest"][]
  ) => {
    const stream = (host as GrpcHost).client(ServerReflection).duplex("serverReflectionInfo");
    for (const messageRequest of questions)
      stream.write(create(ServerReflectionRequestSchema, { host: "h", ...(messageRequest && { messageRequest }) }));
    stream.end();
    const { messages, error } = await readAll(stream);
    if (error !== undefined) throw error;
    return messages.map((message) => (message as ServerReflectionResponse).messageResponse);
  };
  const filesIn = (answer: ServerReflectionResponse["messageResponse"] | undefined) =>
    answer?.case === "fileDescriptorResponse"
      ? answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name)
      : answer?.case;

  it("lists the services, and gives their files with all that they import", async () => {
    await start();
    const [services, ...files] = await ask(
      { case: "listServices", value: "*" },
      { case: "fileContainingSymbol", value: "lf.a2a.v1.A2AService" },
      { case: "fileContainingSymbol", value: "lf.a2a.v1.A2AService.SendMessage" },
      { case: "fileContainingSymbol", value: "lf.a2a.v1.Part.text" },
      { case: "fileContainingSymbol", value: "lf.a2a.v1.TASK_STATE_WORKING" },
      { case: "fileByFilename", value: "lf/a2a/v1/a2a.proto" },
    );
    expect(services?.case === "listServicesResponse" && services.value.service.map(({ name }) => name)).toEqual([
      "lf.a2a.v1.A2AService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
    ]);
    for (const answer of files) {
      const names = filesIn(answer);
      expect(names?.[0]).toBe("lf/a2a/v1/a2a.proto");
      expect(names).toEqual(
        expect.arrayContaining([
          "google/api/annotations.proto",
          "google/protobuf/struct.proto",
          "google/protobuf/descriptor.proto",
        ]),
      );
    }
  });

  it("knows extensions, and says what isn't there", async () => {
    await start();
    const answers = await ask(
      { case: "allExtensionNumbersOfType", value: "google.protobuf.MethodOptions" },
      {
        case: "fileContainingExtension",
        value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 72295728 },
      },
      { case: "fileContainingSymbol", value: "no.such.Thing" },
      { case: "fileByFilename", value: "../../etc/passwd" },
      { case: "allExtensionNumbersOfType", value: "no.such.Thing" },
      undefined,
    );
    expect(answers[0]?.value).toMatchObject({ extensionNumber: expect.arrayContaining([72295728, 1051]) });
    expect(filesIn(answers[1])?.[0]).toBe("google/api/annotations.proto");
    expect(answers.slice(2).map((answer) => answer.case === "errorResponse" && answer.value.errorCode)).toEqual([
      status.NOT_FOUND,
      status.NOT_FOUND,
      status.NOT_FOUND,
      status.INVALID_ARGUMENT,
    ]);
  });

  it("is a call like any other: not without a principal, not when it is off", async () => {
    await start(nobody);
    await expect(ask({ case: "listServices", value: "" })).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    await host?.close();
    await start({}, { reflection: false });
    const error = (await ask({ case: "listServices", value: "" }).catch((thrown: unknown) => thrown)) as ServiceError;
    expect(error.code).not.toBe(status.OK);
  });

  it("a tool that stays connected doesn't hold up a server that drains", async () => {
    const { client, draining } = await start();
    const stream = client(ServerReflection).duplex("serverReflectionInfo");
    const reading = readAll(stream);
    stream.write(create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } }));
    await new Promise((resolve) => stream.once("readable", resolve));
    draining.abort();
    expect((await reading).error).toMatchObject({ code: status.UNAVAILABLE });
  });

  it("the index answers without a server", () => {
    const answer = createReflectionIndex([A2AService.file], [A2AService.typeName]);
    expect(answer({ case: "fileContainingSymbol", value: ".lf.a2a.v1.Task" }).case).toBe("fileDescriptorResponse");
  });
});
