import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "nuncio/client";
import type { AgentCardJson } from "nuncio/types";
import { afterEach, describe, expect, test } from "vitest";
import { CONNECT_BINDING, GRPC_WEB_BINDING } from "../src/a2a/our-names.js";

const SECRETS = { authorization: "Bearer secret", cookie: "a=secret", "x-api-key": "secret" };
const card: AgentCardJson = {
  name: "Moved",
  description: "Is elsewhere",
  version: "1",
  supportedInterfaces: [{ url: "http://127.0.0.1:9/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
};

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Site {
  readonly url: string;
  /** The headers of each request that came. */
  readonly asked: IncomingHttpHeaders[];
}

async function site(answer: (response: ServerResponse, path: string) => void): Promise<Site> {
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers);
    answer(response, request.url ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked };
}

const redirectTo = (location: string, status: number) => (response: ServerResponse) =>
  void response.writeHead(status, { location }).end();
const withCard = () => site((response) => void response.end(JSON.stringify(card)));

describe("a call that is redirected to another origin goes nowhere, with what it carries", () => {
  const wires = ["JSONRPC", "HTTP+JSON", "GRPC", CONNECT_BINDING, GRPC_WEB_BINDING];
  test.each(wires.flatMap((binding) => [301, 302, 303, 307, 308].map((status) => [binding, status] as const)))(
    "over %s: %i",
    async (protocolBinding, status) => {
      const other = await site((response) => void response.end());
      const first = await site(redirectTo(`${other.url}/a2a`, status));
      const supportedInterfaces = [{ url: `${first.url}/a2a`, protocolBinding, protocolVersion: "1.0" }];
      await using peer = await connect({ ...card, supportedInterfaces }, { headers: SECRETS });
      await expect(peer.send("private")).rejects.toThrow();
      await expect(peer.stream("private").reply()).rejects.toThrow();
      expect(other.asked).toEqual([]);
    },
  );
});

describe("a card that is redirected", () => {
  test.each([301, 302, 303, 307, 308])(
    "to another origin is found there without the caller's headers: %i",
    async (status) => {
      const other = await withCard();
      const first = await site(redirectTo(`${other.url}/card.json`, status));
      const peer = await connect(first.url, { headers: SECRETS });
      expect(peer.card.name).toBe("Moved");
      expect(first.asked).toMatchObject([SECRETS]);
      expect(other.asked).toHaveLength(1);
      expect(JSON.stringify(other.asked)).not.toContain("secret");
    },
  );

  test("to another origin and back comes without them too", async () => {
    const home = await site((response, path) =>
      path === "/back" ? response.end(JSON.stringify(card)) : redirectTo(`${other.url}/`, 302)(response),
    );
    const other = await site((response) => redirectTo(`${home.url}/back`, 302)(response));
    await connect(home.url, { headers: SECRETS });
    expect(home.asked.map(({ cookie }) => cookie)).toEqual([SECRETS.cookie, undefined]);
  });

  test("within its origin is found with them", async () => {
    const home = await site((response, path) =>
      path === "/card" ? response.end(JSON.stringify(card)) : redirectTo("/card", 307)(response),
    );
    expect((await connect(home.url, { headers: SECRETS })).card.name).toBe("Moved");
    expect(home.asked).toMatchObject([SECRETS, SECRETS]);
  });

  test.each(["data:application/json,{}", "file:///etc/passwd", "http://[", ""])("to %j isn't one", async (location) => {
    const home = await site(redirectTo(location, 302));
    await expect(connect(home.url)).rejects.toMatchObject({ outcome: "not-sent" });
  });

  test("in a circle isn't one", async () => {
    const home = await site(redirectTo("/.well-known/agent-card.json", 302));
    await expect(connect(home.url)).rejects.toThrow(/no agent card at .*HTTP 302/);
    expect(home.asked).toHaveLength(6);
  });

  test("from TLS to clear text isn't one: anybody could write there", async () => {
    const other = await withCard();
    const first = `https://first.example`;
    const fetched: string[] = [];
    const connecting = connect(first, {
      fetch: async (input) => {
        fetched.push(String(input));
        return new Response(null, { status: 302, headers: { location: other.url } });
      },
    });
    await expect(connecting).rejects.toThrow(/HTTP 302/);
    expect(fetched).toEqual([`${first}/.well-known/agent-card.json`]);
  });

  test("is found in a browser, which follows by itself, without the caller's headers", async () => {
    const inits: RequestInit[] = [];
    const opaque = Object.defineProperty(new Response(null), "type", { value: "opaqueredirect" });
    const peer = await connect("https://first.example", {
      headers: SECRETS,
      fetch: async (_input, init = {}) => {
        inits.push(init);
        return init.redirect === "manual" ? opaque : new Response(JSON.stringify(card));
      },
    });
    expect(peer.card.name).toBe("Moved");
    expect(inits).toMatchObject([{ headers: SECRETS }, { redirect: "follow" }]);
    expect(JSON.stringify(inits[1])).not.toContain("secret");
  });
});
