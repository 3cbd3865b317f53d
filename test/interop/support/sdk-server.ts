import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, UserBuilder as GrpcUserBuilder, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { createGate, type Gate } from "../../support/scripted-agent.js";

export interface SdkServer {
  readonly url: string;
  /** Lets `wait NAME` go on. */
  gate(name: string): Gate;
  /** The `a2a-extensions` of each message that came. */
  readonly extensions: (readonly string[])[];
  close(): Promise<void>;
}

/** An agent on @a2a-js/sdk: Express for the JSON bindings and the card, grpc-js for gRPC. The first word of a message is a command. */
export async function startSdkServer(): Promise<SdkServer> {
  const gates = new Map<string, Gate>();
  const gate = (name: string): Gate => {
    const known = gates.get(name) ?? createGate();
    gates.set(name, known);
    return known;
  };
  const extensions: (readonly string[])[] = [];
  const executor = createExecutor(gate, extensions);

  const app = express();
  const http = createServer(app).listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const grpc = new GrpcServer();
  const grpcPort = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, port: number) => (error === null ? resolve(port) : reject(error));
    grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), bound);
  });

  const card = AgentCard.fromJSON({
    name: "Foreign",
    description: "An agent on another implementation",
    version: "1.2.3",
    supportedInterfaces: [
      { url: `${url}/a2a/jsonrpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: `${url}/a2a/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      { url: `127.0.0.1:${grpcPort}`, protocolBinding: "GRPC", protocolVersion: "1.0" },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extensions: ["urn:x:1", "urn:x:2"].map((uri) => ({ uri, description: "Known here" })),
    },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "all", name: "All", description: "Everything", tags: ["all"] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/a2a/jsonrpc", jsonRpcHandler({ requestHandler, userBuilder }));
  app.use("/a2a/rest", restHandler({ requestHandler, userBuilder }));
  grpc.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));

  return {
    url,
    gate,
    extensions,
    async close() {
      for (const { open } of gates.values()) open();
      grpc.forceShutdown();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}

function createExecutor(gate: (name: string) => Gate, extensions: (readonly string[])[]): AgentExecutor {
  const contexts = new Map<string, string>();
  return {
    async execute(context, bus) {
      extensions.push(context.context.requestedExtensions ?? []);
      contexts.set(context.taskId, context.contextId);
      const said = publisher(context, bus);
      const text = context.userMessage.parts
        .map(({ content }) => (content?.$case === "text" ? content.value : ""))
        .join("");
      const [command = "", ...words] = text.split(" ");
      const rest = words.join(" ");
      if (command === "direct") return said.message(rest);
      said.task();
      said.status("TASK_STATE_WORKING");
      switch (command) {
        case "ask":
          return said.status("TASK_STATE_INPUT_REQUIRED", rest);
        case "fail":
          return said.status("TASK_STATE_FAILED", rest);
        case "until-canceled":
          return gate(`cancel ${context.taskId}`).opened;
        case "wait":
          await gate(rest).opened;
          said.artifact([{ text: `waited for ${rest}` }]);
          break;
        case "chunks":
          for (const [index, chunk] of rest.split("|").entries())
            said.artifact([{ text: chunk }], { append: index > 0, lastChunk: index === rest.split("|").length - 1 });
          break;
        case "mirror":
          said.artifact((Message.toJSON(context.userMessage) as { parts: object[] }).parts);
          break;
        default:
          said.artifact([{ text: `Hello ${text}` }]);
      }
      said.status("TASK_STATE_COMPLETED");
    },
    async cancelTask(taskId, bus) {
      const status = { state: "TASK_STATE_CANCELED", timestamp: new Date().toISOString() };
      const contextId = contexts.get(taskId);
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })));
      bus.finished();
      gate(`cancel ${taskId}`).open();
    },
  };
}

function publisher({ taskId, contextId, task, userMessage }: RequestContext, bus: ExecutionEventBus) {
  const timestamp = () => new Date().toISOString();
  const words = (text: string) => ({
    messageId: crypto.randomUUID(),
    role: "ROLE_AGENT",
    parts: [{ text }],
    taskId,
    contextId,
  });
  return {
    message: (text: string) => bus.publish(AgentEvent.message(Message.fromJSON({ ...words(text), taskId: "" }))),
    task: () =>
      bus.publish(
        AgentEvent.task(
          task ??
            Task.fromJSON({
              id: taskId,
              contextId,
              status: { state: "TASK_STATE_SUBMITTED", timestamp: timestamp() },
              history: [Message.toJSON(userMessage)],
            }),
        ),
      ),
    status: (state: string, text?: string) =>
      bus.publish(
        AgentEvent.statusUpdate(
          TaskStatusUpdateEvent.fromJSON({
            taskId,
            contextId,
            status: { state, timestamp: timestamp(), ...(text !== undefined && { message: words(text) }) },
          }),
        ),
      ),
    artifact: (parts: object[], more: { append?: boolean; lastChunk?: boolean } = {}) =>
      bus.publish(
        AgentEvent.artifactUpdate(
          TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact: { artifactId: "a", parts }, ...more }),
        ),
      ),
  };
}
