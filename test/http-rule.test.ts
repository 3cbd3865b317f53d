import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HttpRuleSchema } from "../gen/google/api/http_pb.js";
import type { Operation } from "../src/a2a/operation.js";
import { v1 } from "../src/a2a/v1.js";
import { createRouter, pathOf, type Route, routesOf } from "../src/bindings/http-json/http-rule.js";

const routes = v1.operations.flatMap(routesOf);
const find = createRouter(routes);
const written = ({ method, segments, verb }: Route) =>
  `${method} /${segments.map((segment) => ("literal" in segment ? segment.literal : `{${segment.field}}`)).join("/")}${verb === undefined ? "" : `:${verb}`}`;

describe("the routes of the contract", () => {
  test("are those of the descriptor, and POST for the stream that has GET", () => {
    expect(routes.filter(({ tenant }) => !tenant).map(written)).toEqual([
      "POST /message:send",
      "POST /message:stream",
      "GET /tasks/{id}",
      "GET /tasks",
      "POST /tasks/{id}:cancel",
      "POST /tasks/{id}:subscribe",
      "GET /tasks/{id}:subscribe",
      "POST /tasks/{task_id}/pushNotificationConfigs",
      "GET /tasks/{task_id}/pushNotificationConfigs/{id}",
      "GET /tasks/{task_id}/pushNotificationConfigs",
      "GET /extendedAgentCard",
      "DELETE /tasks/{task_id}/pushNotificationConfigs/{id}",
    ]);
    expect(routes.filter(({ tenant }) => tenant).map(written)).toEqual(
      routes.filter(({ tenant }) => !tenant).map((route) => written(route).replace(" /", " /{tenant}/")),
    );
  });

  test("are found again by every path that is made of them, whatever the values", () => {
    const value = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text !== "." && text !== "..");
    fc.assert(
      fc.property(fc.constantFrom(...routes), value, value, value, (route, tenant, taskId, id) => {
        const values: Record<string, string> = { tenant, task_id: taskId, id };
        const path = pathOf(route, (field) => values[field] ?? "");
        if (path === undefined) return; // half a surrogate pair
        const match = find(path).find((candidate) => candidate.route === route);
        expect(match).toBeDefined();
        for (const [field, encoded] of match?.values ?? []) expect(decodeURIComponent(encoded)).toBe(values[field]);
      }),
    );
  });

  test("never throw for a path, whatever it is", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (path) => void find(`/${path}`)));
  });
});

test("a pattern that the contract doesn't use is refused when it is read, not when it is called", () => {
  const [operation] = v1.operations;
  for (const get of ["/tasks/{id=**}", "/tasks/{id=tasks/*}", "/tasks/{a.b}", "tasks"]) {
    const odd = {
      ...operation,
      rules: [create(HttpRuleSchema, { pattern: { case: "get", value: get } })],
    } as Operation;
    expect(() => routesOf(odd)).toThrow(TypeError);
  }
});
