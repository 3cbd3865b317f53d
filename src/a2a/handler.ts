import type { DescMessage, MessageJsonType, MessageShape } from "@bufbuild/protobuf";
import type { Call } from "./call.js";
import type { A2AService } from "./types.js";

type Methods = (typeof A2AService)["method"];

/** The 11 operations, computed from the service descriptor. The server core is one, every client has one. */
export type Handler = {
  readonly [M in keyof Methods]: Methods[M]["methodKind"] extends "unary"
    ? (request: MessageShape<Methods[M]["input"]>, call: Call) => Promise<MessageShape<Methods[M]["output"]>>
    : (request: MessageShape<Methods[M]["input"]>, call: Call) => AsyncIterable<MessageShape<Methods[M]["output"]>>;
};

/** Some of the operations, answering with messages or their ProtoJSON. */
export type HandlerImplementation = {
  readonly [M in keyof Methods]?: Methods[M]["methodKind"] extends "unary"
    ? (
        request: MessageShape<Methods[M]["input"]>,
        call: Call,
      ) => Answer<Methods[M]["output"]> | Promise<Answer<Methods[M]["output"]>>
    : (request: MessageShape<Methods[M]["input"]>, call: Call) => AsyncIterable<Answer<Methods[M]["output"]>>;
};
type Answer<D extends DescMessage> = MessageShape<D> | MessageJsonType<D>;

/** Handler → Handler. */
export type Decorator = (next: Handler) => Handler;
