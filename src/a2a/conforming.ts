import type { Message } from "@bufbuild/protobuf";
import { violationsOf } from "./codec.js";
import { A2AError } from "./errors.js";
import type { Handler } from "./handler.js";
import { mapHandler, streamingOf, unaryOf } from "./map-handler.js";
import { isTerminal } from "./task-state.js";
import { A2AService, type StreamResponse } from "./types.js";

/**
 * A Handler whose answers keep the contract, whoever wrote it: each is whole (§5.7); a stream is exactly one Message, or begins with the
 * Task and ends where the task ends (§3.1.2, §3.1.6). What breaks it is INVALID_AGENT_RESPONSE, with the place for the log.
 */
export function conforming(handler: Handler): Handler {
  return mapHandler({
    unary: (key) => async (request, call) => judged(key, await unaryOf(handler, key)(request, call)),
    streaming: (key) =>
      async function* (request, call) {
        let begun = false;
        for await (const event of streamingOf(handler, key)(request, call)) {
          const { payload } = judged(key, event) as StreamResponse;
          if (!begun && payload.case !== "task" && payload.case !== "message")
            throw invalid("a stream begins with a Task or a Message", payload.case);
          if (begun && payload.case === "message") throw invalid("a Message is the only event of its stream", payload);
          yield event;
          if (payload.case === "message" || endsTask(payload)) return;
          begun = true;
        }
      },
  });
}

function judged(key: keyof Handler, answer: unknown): Message {
  const message = answer as Message; // of the operation's output: the Handler's type says so
  const violations = violationsOf(A2AService.method[key].output, message);
  const [first] = violations;
  if (first !== undefined) throw invalid(`${first.path} ${first.description}`.trim(), violations);
  return message;
}

function endsTask(payload: StreamResponse["payload"]): boolean {
  return (payload.case === "task" || payload.case === "statusUpdate") && isTerminal(payload.value.status?.state);
}

function invalid(what: string, seen: unknown): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", `The agent gave an invalid response: ${what}`, { cause: seen });
}
