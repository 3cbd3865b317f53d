import { anonymous } from "../../src/a2a/call.js";
import { v1 } from "../../src/a2a/v1.js";
import type { BindingContext } from "../../src/bindings/binding.js";
import { silentLogger } from "../../src/runtime/logger.js";
import { systemRuntime } from "../../src/runtime/runtime.js";
import { type FakeHandler, fakeHandler } from "./fake-handler.js";

/** What the bindings of a test share: a fake Handler, and where its errors and its draining are seen. */
export interface TestContext {
  readonly handler: FakeHandler;
  /** What was logged as an error. */
  readonly errors: object[];
  readonly draining: AbortController;
  readonly shared: BindingContext;
}

/** @param context what is otherwise than usual. */
export function testContext(context: Partial<BindingContext> = {}): TestContext {
  const handler = fakeHandler();
  const errors: object[] = [];
  const draining = new AbortController();
  const shared: BindingContext = {
    handler,
    versions: [v1],
    authenticate: async () => anonymous,
    challenges: ['Bearer realm="test"'],
    runtime: systemRuntime,
    logger: { ...silentLogger, error: (details: object) => void errors.push(details) },
    maxBodyBytes: 1024 * 1024,
    maxDepth: 64,
    heartbeatMs: 15_000,
    draining: draining.signal,
    ...context,
  };
  return { handler, errors, draining, shared };
}
