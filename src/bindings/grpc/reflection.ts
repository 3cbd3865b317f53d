import { create, type DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { ServerReflection, ServerReflectionResponseSchema } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { A2AError } from "../../a2a/errors.js";
import type { BindingContext } from "../binding.js";
import { admit, wireError } from "./operations.js";
import { createReader } from "./reader.js";
import { createReflectionIndex } from "./reflection-index.js";

/** The standard reflection service over some services, for tools like grpcurl. A call like any other: who isn't let in learns nothing. */
export function addReflection(router: ConnectRouter, context: BindingContext, services: readonly DescService[]): void {
  const all = [...services, ServerReflection];
  const answer = createReflectionIndex(
    all.map(({ file }) => file),
    all.map(({ typeName }) => typeName),
  );
  router.service(ServerReflection, {
    async *serverReflectionInfo(requests, at) {
      const reader = createReader(requests[Symbol.asyncIterator](), at.signal, context.draining);
      try {
        await admit(context, at);
        for (;;) {
          const step = await reader.next();
          if (step === undefined) throw at.signal.aborted ? at.signal.reason : new A2AError("DRAINING");
          if (step.done === true) return;
          const { host, messageRequest } = step.value;
          const messageResponse = answer(messageRequest);
          yield create(ServerReflectionResponseSchema, {
            validHost: host,
            originalRequest: step.value,
            messageResponse,
          });
        }
      } catch (thrown) {
        throw wireError(thrown, context, at.signal);
      } finally {
        reader.close();
      }
    },
  });
}
