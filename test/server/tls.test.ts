/** TLS on one port: HTTP/2 and HTTP/1.1 by ALPN, and a peer that breaks the protocol inside it. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tls from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TallyService } from "../gen/test/v1/tally_pb.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";

let tally: TallyServer;
const folder = mkdtempSync(join(tmpdir(), "holdfast-tls-"));

beforeAll(async () => {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-subj", "/CN=localhost", "-days", "2"];
  execFileSync("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", cert, ...subject], {
    stdio: "pipe",
  });
  tally = await startTally({ tls: { key: readFileSync(key), cert: readFileSync(cert) } });
});
afterAll(async () => {
  await tally.server.close({ within: 0 });
  rmSync(folder, { recursive: true });
});

async function expectServed(httpVersion: "1.1" | "2"): Promise<void> {
  const nodeOptions = { rejectUnauthorized: false };
  const transport = createConnectTransport({ baseUrl: tally.address.url, httpVersion, nodeOptions });
  const { text } = await createClient(TallyService, transport).read({ text: "hi" });
  expect(text).toBe("hi");
}

test("both versions of HTTP are served", async () => {
  expect(tally.address.url).toMatch(/^https:/);
  await expectServed("1.1");
  await expectServed("2");
});

test("a malformed HEADERS frame inside TLS, and bytes that are no TLS, leave the process alive", async () => {
  const { port, host } = tally.address;
  const peer = tls.connect({ port, host, ALPNProtocols: ["h2"], rejectUnauthorized: false });
  peer.on("error", () => undefined);
  await once(peer, "secureConnect");
  const settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
  const headers = [0, 0, 5, 1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x7f];
  peer.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  peer.write(Buffer.from([...settings, ...headers]));
  await expectServed("2");
  peer.destroy();
  await fetch(tally.address.url.replace("https", "http")).catch(() => undefined);
  await expectServed("2");
});
