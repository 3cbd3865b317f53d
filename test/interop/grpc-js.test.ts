import { randomUUID } from "node:crypto";
import { create, type DescService, type Message, toJson } from "@bufbuild/protobuf";
import { credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { type Server, serve } from "nuncio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Health, HealthCheckRequestSchema } from "../../gen/grpc/health/v1/health_pb.js";
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import {
  A2AService,
  type AgentCard,
  ArtifactSchema,
  type ListTasksResponse,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../src/a2a/types.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { detailsOf, type GenericClient, genericClient, readAll } from "../support/grpc.js";
import { gate, scripted } from "../support/scripted-agent.js";
import { byHeader, extended } from "../support/serving.js";
import { selfSigned } from "../support/tls.js";

const schema = (method: string) => {
  const found = A2AService.methods.find(({ localName }) => localName === method);
  if (found === undefined) throw new Error(`There is no ${method}`);
  return found.input;
};
const asking = (method: string, fields: object = {}): Message => create(schema(method), fields as never);

function saying(text: string, more: object = {}, configuration: object = {}): SendMessageRequest {
  const message = { messageId: randomUUID(), role: Role.USER, parts: [textPart(text)], ...more };
  return create(SendMessageRequestSchema, { message, configuration } as never);
}
const textPart = (value: string) => ({ content: { case: "text" as const, value } });

/** As ann, unless it says otherwise. */
function metadata(more: Record<string, string | string[]> = {}): Metadata {
  const made = new Metadata();
  for (const [key, values] of Object.entries({ "x-user": "ann", "a2a-version": "1.0", ...more }))
    for (const value of [values].flat()) made.add(key, value);
  return made;
}

describe.each(["clear text", "TLS"] as const)("a grpc-js client over %s", (channel) => {
  const secure = channel === "TLS";
  const ca = Buffer.from(selfSigned.cert);
  let server: Server;
  let client: GenericClient;
  const clients: GenericClient[] = [];
  const open = (service?: DescService, options = {}): GenericClient => {
    const made = genericClient(new URL(server.url).host, service, {
      credentials: secure ? credentials.createSsl(ca) : credentials.createInsecure(),
      options,
    });
    clients.push(made);
    return made;
  };
  beforeAll(async () => {
    server = await serve(scripted, {
      port: 0,
      journal: "memory:",
      auth: byHeader,
      extendedCard: extended,
      cancelGraceMs: 200,
      drainMs: 500,
      logger: silentLogger,
      ...(secure && { tls: selfSigned }),
    });
    client = open();
  });
  afterAll(async () => {
    for (const one of clients) one.close();
    await server.close();
  });

  const sendTask = async (...args: Parameters<typeof saying>): Promise<Task> => {
    const { payload } = (await client.unary("sendMessage", saying(...args), metadata())) as SendMessageResponse;
    if (payload.case !== "task") throw new Error("A task was expected");
    return payload.value;
  };
  const refused = async (act: Promise<unknown>): Promise<ServiceError> => {
    const error: unknown = await act.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error === undefined) throw new Error("It was not refused");
    return error as ServiceError;
  };

  test("makes every unary call", async () => {
    const contextId = randomUUID();
    const { id } = await sendTask("Ada", { contextId });
    const got = (await client.unary("getTask", asking("getTask", { id }), metadata())) as Task;
    expect(got).toMatchObject({
      id,
      contextId,
      status: { state: TaskState.COMPLETED },
      artifacts: [{ parts: [textPart("Hello Ada")] }],
    });
    const listed = (await client.unary(
      "listTasks",
      asking("listTasks", { contextId }),
      metadata(),
    )) as ListTasksResponse;
    expect(listed).toMatchObject({ totalSize: 1, tasks: [{ id }] });
    const running = await sendTask("until-canceled", {}, { returnImmediately: true });
    const canceled = (await client.unary("cancelTask", asking("cancelTask", { id: running.id }), metadata())) as Task;
    expect(canceled.status?.state).toBe(TaskState.CANCELED);
    const card = (await client.unary("getExtendedAgentCard", asking("getExtendedAgentCard"), metadata())) as AgentCard;
    expect(card.description).toBe("Extended for ann");
    const configs = A2AService.methods.filter(({ name }) => name.includes("PushNotification"));
    expect(configs).toHaveLength(4);
    for (const { localName } of configs) {
      const request = asking(localName, { taskId: id, id: "c", url: "https://example.org/" });
      const error = await refused(client.unary(localName, request, metadata()));
      expect(error.code, localName).toBe(status.FAILED_PRECONDITION);
      expect(detailsOf(error).info?.reason, localName).toBe("PUSH_NOTIFICATION_NOT_SUPPORTED");
    }
  });

  test("reads a stream to its end, and resumes one behind an event that it knows", async () => {
    const { messages, error } = await readAll(
      client.stream("sendStreamingMessage", saying("chunks a|b|c"), metadata()),
    );
    expect(error).toBeUndefined();
    const payloads = (messages as StreamResponse[]).map(({ payload }) => payload);
    expect(payloads[0]?.case).toBe("task");
    expect(payloads.at(-1)).toMatchObject({ case: "statusUpdate", value: { status: { state: TaskState.COMPLETED } } });
    expect(payloads.filter((payload) => payload.case === "artifactUpdate").length).toBeGreaterThanOrEqual(3);
    const id = payloads[0]?.case === "task" ? payloads[0].value.id : "";
    const resumed = client.stream(
      "subscribeToTask",
      asking("subscribeToTask", { id }),
      metadata({ "last-event-id": "2" }),
    );
    const again = (await readAll(resumed)).messages as StreamResponse[];
    expect(again[0]?.payload.case).toBe("task");
    expect(again.at(-1)?.payload).toMatchObject({
      case: "statusUpdate",
      value: { status: { state: TaskState.COMPLETED } },
    });
  });

  test("cancels a stream, and the task goes on", async () => {
    const name = `canceled stream ${channel}`;
    const stream = client.stream("sendStreamingMessage", saying(`wait ${name}`), metadata());
    const first = await new Promise<StreamResponse>((resolve) => stream.once("data", resolve));
    const id = first.payload.case === "task" ? first.payload.value.id : "";
    const ended = new Promise<ServiceError>((resolve) => stream.once("error", resolve as (error: Error) => void));
    stream.cancel();
    expect((await ended).code).toBe(status.CANCELLED);
    gate(name).open();
    await expect
      .poll(async () => ((await client.unary("getTask", asking("getTask", { id }), metadata())) as Task).status?.state)
      .toBe(TaskState.COMPLETED);
  });

  test("gives up after its deadline, and the task goes on", async () => {
    const name = `deadline ${channel}`;
    const contextId = randomUUID();
    const waiting = client.unary("sendMessage", saying(`wait ${name}`, { contextId }), metadata(), {
      deadline: Date.now() + 150,
    });
    expect((await refused(waiting)).code).toBe(status.DEADLINE_EXCEEDED);
    gate(name).open();
    const listed = asking("listTasks", { contextId });
    await expect
      .poll(
        async () =>
          ((await client.unary("listTasks", listed, metadata())) as ListTasksResponse).tasks[0]?.status?.state,
      )
      .toBe(TaskState.COMPLETED);
  });

  test("says in metadata which version it speaks, and which extensions it activates", async () => {
    const call = (more: Record<string, string | string[]>) =>
      client.unary("listTasks", asking("listTasks"), metadata(more));
    for (const version of ["1.0", "1.0.7", ""]) await call({ "a2a-version": version });
    const error = await refused(call({ "a2a-version": "2.0" }));
    expect(error.code).toBe(status.FAILED_PRECONDITION);
    expect(detailsOf(error).info).toMatchObject({ reason: "VERSION_NOT_SUPPORTED", domain: "a2a-protocol.org" });

    const [skills, ids] = ["urn:nuncio:extension:skill:v1", "urn:nuncio:extension:message-id:v1"];
    for (const given of [`${skills}, ${ids}`, [skills, ids]]) {
      const asked = client.unary("sendMessage", saying("facts"), metadata({ "a2a-extensions": given }));
      const { payload } = (await asked) as SendMessageResponse;
      const artifact = payload.case === "task" ? payload.value.artifacts[0] : undefined;
      expect(artifact && toJson(ArtifactSchema, artifact)).toMatchObject({
        parts: [{ data: { principal: "ann", extensions: [skills, ids] } }],
      });
    }
  });

  test("finds the details of an error in grpc-status-details-bin", async () => {
    const unknown = await refused(client.unary("getTask", asking("getTask", { id: randomUUID() }), metadata()));
    expect(unknown.code).toBe(status.NOT_FOUND);
    expect(detailsOf(unknown).info).toMatchObject({ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" });

    const empty = saying("", { messageId: "", parts: [], role: Role.UNSPECIFIED });
    const wrong = await refused(client.unary("sendMessage", empty, metadata()));
    expect(wrong.code).toBe(status.INVALID_ARGUMENT);
    const fields = detailsOf(wrong).badRequest?.fieldViolations.map(({ field }) => field);
    expect(new Set(fields)).toEqual(new Set(["message.messageId", "message.role", "message.parts"]));

    const streamed = client.stream("subscribeToTask", asking("subscribeToTask", { id: randomUUID() }), metadata());
    const { error } = await readAll(streamed);
    expect((error as ServiceError).code).toBe(status.NOT_FOUND);
    expect(detailsOf(error).info?.reason).toBe("TASK_NOT_FOUND");
  });

  test("is asked who it is", async () => {
    const stranger = new Metadata();
    const error = await refused(client.unary("listTasks", asking("listTasks"), stranger));
    expect(error.code).toBe(status.UNAUTHENTICATED);
    expect(error.metadata.get("www-authenticate")).toHaveLength(1);
    const { error: streamed } = await readAll(client.stream("sendStreamingMessage", saying("hi"), stranger));
    expect((streamed as ServiceError).code).toBe(status.UNAUTHENTICATED);
  });

  test("sends compressed, and large; too large is RESOURCE_EXHAUSTED, and the next call works", async () => {
    const zipped = open(A2AService, { "grpc.default_compression_algorithm": 2, "grpc.max_receive_message_length": -1 });
    const raw = new Uint8Array(5_000_000).fill(7);
    const large = (length: number) => ({
      parts: [textPart("mirror"), { content: { case: "raw", value: raw.subarray(0, length) }, mediaType: "image/png" }],
    });
    const sent = saying("", large(raw.length));
    const { payload } = (await zipped.unary("sendMessage", sent, metadata())) as SendMessageResponse;
    const content = payload.case === "task" ? payload.value.artifacts[0]?.parts[1]?.content : undefined;
    expect(content?.case === "raw" && Buffer.compare(content.value, raw)).toBe(0);

    const huge = saying("", {
      parts: [{ content: { case: "raw", value: new Uint8Array(17 * 1024 * 1024) }, mediaType: "image/png" }],
    });
    for (const one of [client, zipped]) {
      expect((await refused(one.unary("sendMessage", huge, metadata()))).code).toBe(status.RESOURCE_EXHAUSTED);
      await one.unary("listTasks", asking("listTasks", { historyLength: 0 }), metadata());
    }
  });

  test("asks for health and for reflection", async () => {
    const health = await open(Health).unary(
      "check",
      create(HealthCheckRequestSchema, { service: A2AService.typeName }),
    );
    expect(health).toMatchObject({ status: 1 });
    const duplex = open(ServerReflection).duplex("serverReflectionInfo", metadata());
    duplex.write(create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } }));
    duplex.end();
    const { messages, error } = await readAll(duplex);
    expect(error).toBeUndefined();
    const { messageResponse } = messages[0] as ServerReflectionResponse;
    const services = messageResponse.case === "listServicesResponse" ? messageResponse.value.service : [];
    expect(services.map(({ name }) => name)).toContain(A2AService.typeName);
  });
});
