import { create } from "@bufbuild/protobuf";
import { contentOf, type PartInput } from "nuncio";
import {
  type Artifact,
  type Message,
  MessageSchema,
  type Part,
  Role,
  type SendMessageConfiguration,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  TaskState,
} from "nuncio/types";
import { partsOf } from "../../src/a2a/content.js";

let messages = 0;

export type MessageFields = Partial<Omit<Message, "parts" | "$typeName" | "$unknown">> & {
  parts?: readonly (string | PartInput | Part)[];
};

/** A message of the user, with an id of its own. */
export function message(text: string, { parts, ...fields }: MessageFields = {}): Message {
  const fresh = create(MessageSchema, {
    messageId: `m-${process.pid}-${++messages}`,
    role: Role.USER,
    parts: partsOf(parts ?? [text]),
  });
  return { ...fresh, ...fields };
}

export function send(
  text: string | Message,
  configuration: Partial<SendMessageConfiguration> = {},
  fields: MessageFields = {},
): SendMessageRequest {
  return create(SendMessageRequestSchema, {
    message: typeof text === "string" ? message(text, fields) : text,
    configuration: create(SendMessageConfigurationSchema, configuration as SendMessageConfiguration),
  });
}

/** @throws when the answer isn't a task. */
export function taskOf({ payload }: SendMessageResponse | StreamResponse): Task {
  if (payload.case !== "task") throw new Error(`Expected a task, got ${payload.case}`);
  return payload.value;
}

export function stateOf(task: Task): string {
  return TaskState[task.status?.state ?? 0] ?? "?";
}

export function textOf(source: Message | Artifact | Task | undefined): string {
  return source === undefined ? "" : contentOf(source).text;
}

export async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** Events in one word each: `task:WORKING`, `status:WORKING waiting`, `artifact:Hello`. */
export function told(events: readonly StreamResponse[]): string[] {
  return events.map(({ payload }) => {
    switch (payload.case) {
      case "task":
        return `task:${stateOf(payload.value)}`;
      case "message":
        return `message:${textOf(payload.value)}`;
      case "statusUpdate": {
        const text = textOf(payload.value.status?.message);
        return `status:${TaskState[payload.value.status?.state ?? 0]}${text === "" ? "" : ` ${text}`}`;
      }
      case "artifactUpdate":
        return `artifact:${textOf(payload.value.artifact)}${payload.value.append ? "+" : ""}${payload.value.lastChunk ? "." : ""}`;
      default:
        return "nothing";
    }
  });
}
