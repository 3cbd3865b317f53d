import { isDeepStrictEqual } from "node:util";
import { create } from "@bufbuild/protobuf";
import type { Handler } from "nuncio";
import { GetTaskRequestSchema, type SendMessageRequest } from "nuncio/types";
import type { ModelTask } from "./model.js";
import type { Random } from "./random.js";
import { same, seenOf } from "./seen.js";

/** A message that was sent, to be sent again. */
export interface Sent {
  readonly request: SendMessageRequest;
  /** `undefined`: it was answered directly. */
  readonly task: ModelTask | undefined;
  /** The id of a direct reply. */
  readonly replyId: string | undefined;
}

/** One caller, and what the specification says that it has. */
export interface Caller {
  readonly name: string;
  readonly handler: Handler;
  readonly tasks: ModelTask[];
  readonly sent: Sent[];
}

/** Where a step is taken. */
export interface At {
  readonly caller: Caller;
  /** Somebody else, whose tasks aren't the caller's. */
  readonly other: Caller;
  readonly random: Random;
  /** The name of a gate that nothing has waited for yet. */
  gate(): string;
  /** Says in the log what the step does. */
  note(...what: unknown[]): void;
}

/** Calls something, and holds its answer to the model. @throws Error with the difference. */
export type Step = (at: At) => Promise<void>;

/** What happens without its caller waiting has happened in a moment. */
export async function settled({ handler }: Caller, task: ModelTask): Promise<void> {
  const request = create(GetTaskRequestSchema, { id: task.id });
  let seen = seenOf(await handler.getTask(request, {}));
  for (let tries = 0; tries < 1_000 && !isDeepStrictEqual(seen, task.seen()); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 3));
    seen = seenOf(await handler.getTask(request, {}));
  }
  same("what became of the task", seen, task.seen());
}
