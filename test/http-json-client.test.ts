import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
} from "../src/a2a/types.js";
import { createHttpJsonClient } from "../src/bindings/http-json/client.js";
import { all, failure, getTask, host, raw, subscribe } from "./support/json-clients.js";
import { http, streamHead } from "./support/raw-server.js";

describe("the HTTP+JSON client", () => {
  test("sends no body and no content type where there is nothing to send", async () => {
    const server = await raw(() => http(200, "application/json", '{"id":"t"}'));
    await createHttpJsonClient({ url: server.url }).cancelTask(create(CancelTaskRequestSchema, { id: "t" }), {});
    expect(server.requests[0]).toMatch(/^POST \/a2a\/tasks\/t:cancel HTTP\/1.1/);
    expect(server.requests[0]).not.toMatch(/content-type/i);
  });

  test("keeps the query of its URL", async () => {
    const server = await raw(() => http(200, "application/json", '{"id":"t"}'));
    await createHttpJsonClient({ url: `${server.url}?key=1` }).getTask(
      create(GetTaskRequestSchema, { id: "t", historyLength: 2 }),
      {},
    );
    expect(server.requests[0]).toMatch(/^GET \/a2a\/tasks\/t\?historyLength=2&key=1 HTTP/);
  });

  test("never lets an id walk to another path", async () => {
    const server = await host();
    const client = createHttpJsonClient({ url: server.url });
    for (const id of ["", ".", "..", "\ud800"])
      expect((await failure(getTask(client, id))).reason).toBe("INVALID_PARAMS");
    for (const id of ["../x", "a/../b", "a:cancel", "a?b", "a#b", "%2e%2e"])
      expect((await failure(getTask(client, id))).reason).toBe("TASK_NOT_FOUND");
    expect(server.handler.calls.map(({ request }) => (request as { id?: string }).id)).toEqual([
      "../x",
      "a/../b",
      "a:cancel",
      "a?b",
      "a#b",
      "%2e%2e",
    ]);
  });

  const stream = `${streamHead}data: {"task":{"id":"t"}}\n\n`;
  const missing = [
    http(405, "text/html", "no"),
    http(501, undefined, ""),
    http(404, "text/html", "<h1>not found</h1>"),
    http(404, "application/json", '{"error":{"code":404,"status":"NOT_FOUND","message":"no route"}}'),
  ];
  test.each(missing)("subscribes by GET where POST isn't there: %.25s", async (answer) => {
    const server = await raw((request) => (request.startsWith("POST") ? answer : stream));
    expect(await all(subscribe(createHttpJsonClient({ url: server.url })))).toHaveLength(1);
    expect(server.requests.map((request) => request.slice(0, 30))).toEqual([
      "POST /a2a/tasks/t:subscribe HT",
      "GET /a2a/tasks/t:subscribe HTT",
    ]);
  });

  test("doesn't ask again when the agent itself has said no", async () => {
    const details = [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
    ];
    const server = await raw(() =>
      http(
        404,
        "application/json",
        JSON.stringify({ error: { code: 404, status: "NOT_FOUND", message: "gone", details } }),
      ),
    );
    const error = await failure(all(subscribe(createHttpJsonClient({ url: server.url }))));
    expect([error.reason, error.message, server.requests.length]).toEqual(["TASK_NOT_FOUND", "gone", 1]);
  });

  test("takes an empty answer to a delete", async () => {
    const server = await raw(() => "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    const request = create(DeleteTaskPushNotificationConfigRequestSchema, { taskId: "t", id: "c" });
    await createHttpJsonClient({ url: server.url }).deleteTaskPushNotificationConfig(request, {});
  });

  const shapes: [number, object, string, string][] = [
    [400, { error: { code: 400, status: "INVALID_ARGUMENT", message: "m" } }, "INVALID_PARAMS", "m"],
    [
      409,
      {
        error: {
          code: 409,
          message: "m",
          details: [
            {
              "@type": "type.googleapis.com/google.rpc.ErrorInfo",
              reason: "TASK_NOT_CANCELABLE",
              domain: "a2a-protocol.org",
            },
          ],
        },
      },
      "TASK_NOT_CANCELABLE",
      "m",
    ],
    [404, { code: 5, message: "m", details: [] }, "METHOD_NOT_FOUND", "m"],
    [400, { type: "about:blank", title: "Bad", detail: "m" }, "INVALID_REQUEST", "m"],
    [500, { error: "m" }, "INTERNAL", "The server answered with HTTP 500"],
    [500, { error: { message: 5, details: 7 } }, "INTERNAL", "Internal error"],
  ];
  test.each(shapes)("reads a %i with %j", async (status, body, reason, message) => {
    const server = await raw(() => http(status, "application/problem+json", JSON.stringify(body)));
    const error = await failure(getTask(createHttpJsonClient({ url: server.url })));
    expect([error.reason, error.message]).toEqual([reason, message]);
  });
});
