/**
 * Follow by the server's own route and by Connect's handlers, over HTTP/2 and HTTP/1.1: whatever is asked, a client
 * sees the same.
 */
import { createServer as createHttp1Server, request as http1Request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo } from "node:net";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PacketSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { StreamContext } from "../../server/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { type Harness, harness } from "../support/harness.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";
import { followPacket } from "./raw-follow.ts";

const path = "/holdfast.link.v1.LinkService/Follow";
const origin = "https://page.example.com";

interface Asked {
  readonly name: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

let held: Harness;
let tally: TallyServer;
/** Ports by what answers there: the server's own, and its routes under Connect's adapter. */
const ports = { own: 0, connect1: 0, connect2: 0 };
const clock = virtualClock();

beforeAll(async () => {
  held = harness();
  tally = held.own(
    await startTally({
      clock,
      cors: { origins: [origin] },
      handlers: {
        follow: (_request, context: StreamContext) =>
          context.follow(tally.server.topic(Tally.follow, "a"), { backlog: 10 }),
      },
    }),
  );
  ports.own = tally.address.port;
  tally.server.topic(Tally.follow, "a").publish({ number: 7n });
  const { routes } = tally.server;
  for (const [name, server] of [
    ["connect1", createHttp1Server(connectNodeAdapter({ routes }))],
    ["connect2", createHttp2Server(connectNodeAdapter({ routes }))],
  ] as const) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ports[name] = (server.address() as AddressInfo).port;
    held.own({ [Symbol.asyncDispose]: async () => void server.close() });
  }
});
afterAll(() => held[Symbol.asyncDispose]());

/** What an answer shows; a stream that stays open is read up to its second packet. */
function shown(status: number, headers: NodeJS.Dict<string | string[]>, body: Buffer): Seen {
  const names = Object.keys(headers).filter(
    (name) =>
      !name.startsWith(":") && !["date", "connection", "keep-alive", "transfer-encoding"].includes(name),
  );
  return {
    status,
    headers: Object.fromEntries(names.sort().map((name) => [name, String(headers[name])])),
    body: body.toString("latin1"),
  };
}

async function over1(port: number, { type, headers, body }: Asked): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const its = { "content-type": type ?? "application/connect+proto", ...headers };
    const request = http1Request({
      port,
      host: "127.0.0.1",
      path,
      method: "POST",
      headers: its,
      agent: false,
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const pieces: Buffer[] = [];
      const done = (): void => {
        resolve(shown(response.statusCode ?? 0, response.headers, Buffer.concat(pieces)));
        request.destroy();
      };
      response.on("data", (piece: Buffer) => {
        pieces.push(piece);
        if (packetsIn(Buffer.concat(pieces)) >= 2) done();
      });
      response.on("end", done);
      response.on("error", () => undefined);
    });
    request.end(body);
  });
}

async function over2(port: number, { type, headers, body }: Asked): Promise<Seen> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  try {
    return await new Promise((resolve, reject) => {
      session.on("error", reject);
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": type ?? "application/connect+proto",
        ...headers,
      });
      let head: NodeJS.Dict<string | string[]> = {};
      const pieces: Buffer[] = [];
      const done = (): void => resolve(shown(Number(head[":status"]), head, Buffer.concat(pieces)));
      stream.on("error", reject);
      stream.on("response", (its) => (head = its as NodeJS.Dict<string | string[]>));
      stream.on("data", (piece: Buffer) => {
        pieces.push(piece);
        if (packetsIn(Buffer.concat(pieces)) >= 2) done();
      });
      stream.on("end", done);
      stream.end(body);
    });
  } finally {
    session.destroy();
  }
}

/** Whole envelopes that have come. */
function packetsIn(body: Buffer): number {
  let count = 0;
  for (let at = 0; at + 5 <= body.length && at + 5 + body.readUInt32BE(at + 1) <= body.length; count += 1)
    at += 5 + body.readUInt32BE(at + 1);
  return count;
}

const proto = (data: Uint8Array): Uint8Array => toBinary(PacketSchema, create(PacketSchema, { data }));
const json = (data: Uint8Array): Uint8Array =>
  Buffer.from(toJsonString(PacketSchema, create(PacketSchema, { data })));
const good = encodeEnvelope(0, proto(followPacket()));

const table: readonly Asked[] = [
  { name: "a follow", body: good },
  {
    name: "a follow in JSON",
    type: "application/connect+json",
    body: encodeEnvelope(0, json(followPacket())),
  },
  { name: "a page of an allowed origin", headers: { origin }, body: good },
  { name: "a page of another origin", headers: { origin: "https://other.example.com" }, body: good },
  {
    name: "encodings that it may be answered in",
    headers: { "connect-accept-encoding": "gzip, br" },
    body: good,
  },
  { name: "a timeout", headers: { "connect-timeout-ms": "60000" }, body: good },
  { name: "a timeout that is none", headers: { "connect-timeout-ms": "soon" }, body: good },
  { name: "an encoding that is not known", headers: { "connect-content-encoding": "zip" }, body: good },
  { name: "gRPC-Web", type: "application/grpc-web+proto", body: good },
  { name: "a content type that is not known", type: "text/plain", body: good },
  { name: "a unary content type", type: "application/proto", body: proto(followPacket()) },
  { name: "a content type with a parameter", type: "application/connect+proto; charset=utf-8", body: good },
  { name: "no body", body: new Uint8Array() },
  { name: "a body that is cut", body: good.subarray(0, 20) },
  { name: "two messages", body: Buffer.concat([good, good]) },
  { name: "a flag for compression", body: encodeEnvelope(1, proto(followPacket())) },
  { name: "what is no packet", body: encodeEnvelope(0, Uint8Array.of(0x0a, 0xff)) },
  { name: "JSON that is none", type: "application/connect+json", body: encodeEnvelope(0, Buffer.from("{")) },
  { name: "a packet that cannot be read", body: encodeEnvelope(0, proto(Buffer.from("[{"))) },
  { name: "a method that there is not", body: encodeEnvelope(0, proto(followPacket({ method: "no.Such" }))) },
  { name: "a packet that is too large", body: encodeEnvelope(0, new Uint8Array(4 * 1_048_576 + 70_000)) },
];

describe.each(["HTTP/1.1", "HTTP/2"] as const)("Follow over %s", (version) => {
  it.each(table)("answers $name as Connect's handlers do", async (asked) => {
    const ask = version === "HTTP/2" ? over2 : over1;
    const own = await ask(ports.own, asked);
    const connects = await ask(version === "HTTP/2" ? ports.connect2 : ports.connect1, asked);
    expect(own).toEqual(connects);
    expect(own.headers["holdfast-server"] ?? own.status).toBeDefined();
  });
});
