import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import {
  Health,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.js";

/**
 * The standard health service: SERVING until the server drains, for the server (`""`) and each of its services. Public, as orchestrators
 * ask without credentials.
 * @param services full names.
 */
export function addHealth(router: ConnectRouter, services: ReadonlySet<string>, draining: AbortSignal): void {
  const statusOf = (service: string) => {
    if (service !== "" && !services.has(service)) return Status.SERVICE_UNKNOWN;
    return draining.aborted ? Status.NOT_SERVING : Status.SERVING;
  };
  const response = (status: Status) => create(HealthCheckResponseSchema, { status });

  router.service(Health, {
    check({ service }) {
      const status = statusOf(service);
      if (status === Status.SERVICE_UNKNOWN) throw new ConnectError("There is no such service here", Code.NotFound);
      return response(status);
    },
    async *watch({ service }, { signal }) {
      const status = statusOf(service);
      yield response(status);
      await eitherAborts(signal, draining);
      if (!signal.aborted && statusOf(service) !== status) yield response(statusOf(service));
      // A watch has no end of its own, and a server that drains needs one.
      if (!signal.aborted) throw new ConnectError("This server is shutting down; watch elsewhere", Code.Unavailable);
    },
  });
}

function eitherAborts(one: AbortSignal, other: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      one.removeEventListener("abort", done);
      other.removeEventListener("abort", done);
      resolve();
    };
    if (one.aborted || other.aborted) return resolve();
    one.addEventListener("abort", done);
    other.addEventListener("abort", done);
  });
}
