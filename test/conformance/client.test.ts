import { request as requestHttps } from "node:https";
import { serve } from "nuncio";
import { connect } from "nuncio/client";
import { describe, expect, test } from "vitest";
import { http, startRawServer } from "../support/raw-server.js";
import { quiet, says } from "../support/small-agents.js";
import { selfSigned } from "../support/tls.js";

const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } };
const cardWith = (supportedInterfaces: readonly object[], more: object = {}) =>
  ({
    name: "Other",
    description: "Somebody else's",
    version: "1",
    supportedInterfaces,
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "s", name: "s", description: "s", tags: ["s"] }],
    ...more,
  }) as never;

/** Answers SendMessage and GetTask on the binding that is asked for, and keeps what it was asked. */
async function answering(binding: "JSONRPC" | "HTTP+JSON") {
  return startRawServer((request) => {
    const isGet = request.startsWith("GET ");
    const result = isGet || request.includes('"GetTask"') ? task : { task };
    const id = (/"id":("?[^,"]*"?)/.exec(request.slice(request.indexOf("\r\n\r\n"))) ?? [])[1] ?? "1";
    return binding === "JSONRPC"
      ? http(200, "application/json", `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`)
      : http(200, "application/a2a+json", JSON.stringify(result));
  });
}

describe.each(["JSONRPC", "HTTP+JSON"] as const)("our client, over %s", (binding) => {
  test("says its version in every request, as Major.Minor (§3.6.1, §14.2.1)", async () => {
    const server = await answering(binding);
    const peer = await connect(cardWith([{ url: server.url, protocolBinding: binding, protocolVersion: "1.0" }]));
    await peer.send("x");
    await peer.get("t");
    await server.close();
    expect(server.requests).toHaveLength(2);
    for (const request of server.requests) expect(request).toMatch(/^a2a-version: 1\.0\r$/im);
  });

  test("names the extensions that it wants in one header, separated by commas (§9.2, §11.2)", async () => {
    const server = await answering(binding);
    const interfaces = [{ url: server.url, protocolBinding: binding, protocolVersion: "1.0" }];
    const peer = await connect(cardWith(interfaces), { extensions: ["urn:a", "urn:b"] });
    await peer.send("x");
    await server.close();
    expect(server.requests[0]).toMatch(/^a2a-extensions: urn:a,urn:b\r$/im);
  });

  test("puts the tenant of the interface into every request, exactly, and leaves it out where there is none (§8.3.2)", async () => {
    for (const tenant of [undefined, "team/a b"]) {
      const server = await answering(binding);
      const one = {
        url: server.url,
        protocolBinding: binding,
        protocolVersion: "1.0",
        ...(tenant !== undefined && { tenant }),
      };
      const peer = await connect(cardWith([one]));
      await peer.send("x");
      await peer.get("t");
      await server.close();
      for (const request of server.requests) {
        const said =
          /"tenant":"([^"]*)"/.exec(request)?.[1] ?? /^\w+ \/a2a\/([^/]+)\/(?:tasks|message)/.exec(request)?.[1];
        expect(said === undefined ? said : decodeURIComponent(said)).toBe(tenant);
      }
    }
  });
});

test("our client takes the first interface of the card that it speaks, at the URL of that entry (§8.3.2)", async () => {
  const [first, second] = [await answering("HTTP+JSON"), await answering("JSONRPC")];
  const peer = await connect(
    cardWith([
      {
        url: "wss://agent.example/ws",
        protocolBinding: "https://example.com/bindings/websocket/v1",
        protocolVersion: "1.0",
      },
      { url: first.url, protocolBinding: "JSONRPC", protocolVersion: "9.0" },
      { url: first.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      { url: second.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ]),
  );
  await peer.send("x");
  await Promise.all([first.close(), second.close()]);
  expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
});

test("our client may be told which bindings it may take, so that it falls back to none that isn't wanted (§3.6.3, §5.2)", async () => {
  const interfaces = [{ url: "http://127.0.0.1:1/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
  await expect(connect(cardWith(interfaces), { bindings: ["grpc"] })).rejects.toMatchObject({
    reason: "VERSION_NOT_SUPPORTED",
    outcome: "not-sent",
  });
  const old = [{ url: "http://127.0.0.1:1/a2a", protocolBinding: "JSONRPC", protocolVersion: "0.3" }];
  await expect(connect(cardWith(old))).rejects.toMatchObject({ message: expect.stringContaining("JSONRPC 0.3") });
});

describe("a server with TLS", () => {
  const asked = (port: number, host: string, ca?: string) =>
    new Promise<{ status: number | undefined; hsts: unknown }>((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port,
        servername: "localhost",
        path: "/healthz",
        headers: { host },
        agent: false,
        ...(ca && { ca }),
      };
      requestHttps(options, (response) => {
        response.resume();
        resolve({ status: response.statusCode, hsts: response.headers["strict-transport-security"] });
      })
        .on("error", reject)
        .end();
    });

  test("has itself called by HTTPS only from then on, except on a developer's localhost (§13.4)", async () => {
    await using server = await serve(says("A"), { ...quiet, tls: selfSigned });
    const port = Number(new URL(server.url).port);
    expect(await asked(port, "agent.example", selfSigned.cert)).toEqual({ status: 200, hsts: "max-age=31536000" });
    expect(await asked(port, `localhost:${port}`, selfSigned.cert)).toEqual({ status: 200, hsts: undefined });
  });

  test("whose certificate nobody known has signed isn't called (§7.2)", async () => {
    await using server = await serve(says("A"), { ...quiet, tls: selfSigned });
    await expect(connect(server.url)).rejects.toMatchObject({ outcome: "not-sent" });
  });
});
