import { handlerContract } from "./contract/handler.js";
import { inProcess } from "./support/in-process.js";
import { overTheWire } from "./support/serving.js";

handlerContract("in process", inProcess);
for (const binding of ["jsonrpc", "http-json", "grpc", "grpc-web", "connect"] as const) {
  handlerContract(`over ${binding}`, () => overTheWire(binding));
}
