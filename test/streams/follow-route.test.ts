/**
 * Follow by the server's own route and by Connect's handlers, over HTTP/2 and HTTP/1.1: whatever is asked, a client
 * sees the same.
 */
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PacketSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { StreamContext } from "../../server/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { type Harness, harness } from "../support/harness.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";
import { ask, type HttpVersion, type Seen, underConnect } from "../support/two-routes.ts";
import { followPacket } from "./raw-follow.ts";

const path = "/holdfast.link.v1.LinkService/Follow";
const origin = "https://page.example.com";

/** A row of the table. */
interface Asked {
  readonly name: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

let held: Harness;
let tally: TallyServer;
let connects: Readonly<Record<HttpVersion, number>>;
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
  tally.server.topic(Tally.follow, "a").publish({ number: 7n });
  connects = held.own(await underConnect(tally.server.routes)).ports;
});
afterAll(() => held[Symbol.asyncDispose]());

/** Sends a row; a stream that stays open is read up to its second packet. */
function send(version: HttpVersion, port: number, asked: Asked): Promise<Seen> {
  const { type = "application/connect+proto", headers, body } = asked;
  const its = { "content-type": type, ...headers };
  return ask(version, port, { path, headers: its, body }, (read) => packetsIn(read) >= 2);
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
    const own = await send(version, tally.address.port, asked);
    expect(own).toEqual(await send(version, connects[version], asked));
  });

  it("answers with the server's headers", async () => {
    const { headers } = await send(version, tally.address.port, { name: "", body: good });
    expect(headers["holdfast-server"]).toBe("1");
  });
});
