import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { createServer as createTlsServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { http1Client } from "../../runtime/node/http1.ts";
import { http2Client } from "../../runtime/node/http2.ts";
import { echo, http2Server, listen, post, text } from "./support.ts";

const options = { connectWaitMs: 5_000, clock: systemClock };
let folder = "";
let key = "";
let cert = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tls-test-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
    ].concat(["-keyout", keyFile, "-out", certFile], subject),
    { stdio: "ignore" },
  );
  key = readFileSync(keyFile, "utf8");
  cert = readFileSync(certFile, "utf8");
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("over TLS", () => {
  it("speaks HTTP/2 with a server whose authority it was given, and HTTP/1.1 with the same one", async () => {
    const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
      response.end(request.httpVersion);
    });
    const origin = `https://localhost:${await listen(server)}`;
    const two = http2Client({ ...options, origin, tls: { ca: cert } });
    expect(await text(await two.send(post(origin, "a")))).toBe("2.0");
    const one = http1Client({ ...options, origin, tls: { ca: cert } });
    expect(await text(await one.send(post(origin, "a")))).toBe("1.1");
    two.close();
    one.close();
    server.close();
  });

  it("does not trust a certificate that nobody vouches for, and says how to", async () => {
    const server = createSecureServer({ key, cert });
    const origin = `https://localhost:${await listen(server)}`;
    for (const open of [http2Client, http1Client]) {
      const client = open({ ...options, origin });
      await expect(client.send(post(origin, "a"))).rejects.toMatchObject({
        kind: "connect-failed",
        sent: false,
        message: expect.stringContaining("tls: { ca }"),
      });
      client.close();
    }
    server.close();
  });

  it("does not take a certificate for another name", async () => {
    const server = createSecureServer({ key, cert });
    const origin = `https://127.0.0.1:${await listen(server)}`;
    const client = http2Client({ ...options, origin, tls: { ca: cert } });
    await expect(client.send(post(origin, "a"))).rejects.toMatchObject({
      kind: "connect-failed",
      message: expect.stringContaining("another name"),
    });
    client.close();
    server.close();
  });

  it("says what to do when the server has only HTTP/1.1", async () => {
    const server = createTlsServer({ key, cert, ALPNProtocols: ["http/1.1"] });
    const origin = `https://localhost:${await listen(server)}`;
    const client = http2Client({ ...options, origin, tls: { ca: cert } });
    await expect(client.send(post(origin, "a"))).rejects.toMatchObject({
      kind: "connect-failed",
      sent: false,
      message: expect.stringContaining('httpVersion: "1.1"'),
    });
    client.close();
    server.close();
  });

  it("says so when the server speaks no TLS, and when it speaks only TLS", async () => {
    await using plain = await http2Server(echo);
    const origin = plain.origin.replace("http:", "https:");
    const client = http2Client({ ...options, origin });
    await expect(client.send(post(origin, "a"))).rejects.toMatchObject({
      kind: "connect-failed",
      sent: false,
    });
    client.close();

    const secure = createSecureServer({ key, cert });
    secure.on("tlsClientError", () => undefined);
    const http = `http://localhost:${await listen(secure)}`;
    const other = http2Client({ ...options, origin: http });
    await expect(other.send(post(http, "a"))).rejects.toMatchObject({ kind: "connect-failed", sent: false });
    other.close();
    secure.close();
  });
});
