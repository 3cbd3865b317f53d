import { connect as connectHttp2 } from "node:http2";
import { request as requestHttps } from "node:https";
import { type Server, serve } from "nuncio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/runtime/logger.js";
import { scripted } from "../support/scripted-agent.js";
import { selfSigned } from "../support/tls.js";

describe("on the TLS port that serves gRPC", () => {
  let server: Server;
  const ca = selfSigned.cert;
  beforeAll(async () => {
    server = await serve(scripted, {
      port: 0,
      journal: "memory:",
      tls: { key: selfSigned.key, cert: new TextEncoder().encode(selfSigned.cert) },
      drainMs: 500,
      logger: silentLogger,
    });
  });
  afterAll(() => server.close());
  const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "Ada" }] } });
  const headers = { "content-type": "application/a2a+json", "a2a-version": "1.0" };

  test("the card says https, and all its interfaces are there", () => {
    for (const { url, protocolBinding } of server.card.supportedInterfaces)
      if (protocolBinding !== "GRPC") expect(new URL(url).protocol).toBe("https:");
  });

  test("HTTP/1.1 is served", async () => {
    const answer = await new Promise<{ version: string; status: number | undefined; text: string }>(
      (resolve, reject) => {
        const sent = requestHttps(
          `${server.url}/a2a/message:send`,
          { method: "POST", headers, ca, agent: false },
          (response) => {
            let text = "";
            response.setEncoding("utf8").on("data", (chunk) => {
              text += chunk;
            });
            response.on("end", () => resolve({ version: response.httpVersion, status: response.statusCode, text }));
          },
        );
        sent.on("error", reject).end(body);
      },
    );
    expect(answer).toMatchObject({ version: "1.1", status: 200 });
    expect(answer.text).toContain("Hello Ada");
  });

  test("HTTP/2 is served", async () => {
    const session = connectHttp2(server.url, { ca, servername: "localhost" });
    const stream = session.request({ ":method": "POST", ":path": "/a2a/message:send", ...headers });
    const answered = new Promise<number | undefined>((resolve) =>
      stream.once("response", (head) => resolve(head[":status"])),
    );
    stream.end(body);
    let text = "";
    for await (const chunk of stream.setEncoding("utf8")) text += chunk;
    expect(await answered).toBe(200);
    expect(text).toContain("Hello Ada");
    await new Promise<void>((resolve) => session.close(resolve));
  });
});
