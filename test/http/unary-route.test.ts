/**
 * Unary requests by the server's own route and by Connect's handlers, over HTTP/2 and HTTP/1.1: whatever is asked, a
 * client sees the same.
 */
import { gzipSync } from "node:zlib";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { HandlerContext } from "../../server/index.ts";
import { AddRequestSchema, AddResponseSchema, ReadRequestSchema } from "../gen/test/v1/tally_pb.ts";
import { type Harness, harness } from "../support/harness.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";
import { ask, type HttpVersion, type Seen, underConnect } from "../support/two-routes.ts";

const origin = "https://page.example.com";

/** A row of the table. */
interface Asked {
  readonly name: string;
  readonly rpc?: string;
  readonly method?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

let held: Harness;
let tally: TallyServer;
let connects: Readonly<Record<HttpVersion, number>>;

/** What a handler may do to its answer, by the text that it is asked with. */
function read({ text }: { readonly text: string }, context: HandlerContext): object {
  if (text === "headers") {
    context.responseHeader.set("x-one", "1");
    context.responseHeader.append("x-two", "a");
    context.responseHeader.append("x-two", "b");
    context.responseHeader.append("set-cookie", "a=1");
    context.responseHeader.append("set-cookie", "b=2");
    context.responseHeader.set("x-data-bin", "AQI");
    context.responseTrailer.set("x-end", context.requestHeader.get("x-asked") ?? "");
    context.responseTrailer.set("x-end-bin", "AwQ");
  }
  if (text === "error") {
    context.responseHeader.set("x-one", "1");
    context.responseTrailer.set("x-end", "2");
    const metadata = { "x-why": "so", "x-data-bin": "AQI", "x-one": "of the error" };
    const detail = { desc: AddResponseSchema, value: { total: 3n, text: "detail" } };
    throw new ConnectError("no such tally: ä", Code.NotFound, metadata, [detail]);
  }
  if (text === "fault") throw new Error("secret");
  if (text === "large") return { text: "large ".repeat(1_000) };
  if (text === "too large") return { text: "x".repeat(40_000) };
  return { total: 1n, text };
}

beforeAll(async () => {
  held = harness();
  tally = held.own(
    await startTally({
      clock: virtualClock(),
      cors: { origins: [origin] },
      limits: { requestBytesMost: 20_000, replyBytesMost: 30_000 },
      build: { id: "2", accepts: ({ id }) => id !== "1" },
      authenticate: ({ token, headers }) => {
        if (token === "bad" || headers.get("x-asked") === "bad") throw new Error("unknown");
        return token === undefined ? undefined : { by: token };
      },
      handlers: {
        read,
        add: ({ amount, text }) => ({ total: amount, text: text === "" ? "" : "x".repeat(40_000) }),
      },
    }),
  );
  connects = held.own(await underConnect(tally.server.routes)).ports;
});
afterAll(() => held[Symbol.asyncDispose]());

/** Sends a row. */
function send(version: HttpVersion, port: number, asked: Asked): Promise<Seen> {
  const { rpc = "Read", type = "application/proto", headers, ...rest } = asked;
  const its = { ...(type === "" ? {} : { "content-type": type }), ...headers };
  return ask(version, port, { ...rest, path: `/test.v1.TallyService/${rpc}`, headers: its });
}

const proto = (text: string): Uint8Array => toBinary(ReadRequestSchema, create(ReadRequestSchema, { text }));
const json = (text: string): Uint8Array => Buffer.from(JSON.stringify({ text }));
const add = (text: string): Uint8Array =>
  toBinary(AddRequestSchema, create(AddRequestSchema, { amount: 2n, text }));
const addJson = Buffer.from(toJsonString(AddRequestSchema, create(AddRequestSchema, { amount: 2n })));
const call = (letter: string): string => `"${letter.repeat(22)}"`;

const table: readonly Asked[] = [
  { name: "a query", body: proto("a") },
  { name: "a query in JSON", type: "application/json", body: json("a") },
  { name: "JSON with its charset", type: "application/json; charset=utf-8", body: json("a") },
  {
    name: "JSON with an unknown field",
    type: "application/json",
    body: Buffer.from('{"other":1,"text":"a"}'),
  },
  { name: "no body", body: new Uint8Array() },
  { name: "no body in JSON", type: "application/json", body: new Uint8Array() },
  { name: "what is no message", body: Uint8Array.of(0x0a, 0xff) },
  { name: "JSON that is none", type: "application/json", body: Buffer.from("{") },
  { name: "JSON of another type", type: "application/json", body: Buffer.from('{"text":1}') },
  { name: "headers and trailers of a handler", headers: { "x-asked": "ä" }, body: proto("headers") },
  { name: "an error with details and metadata", body: proto("error") },
  { name: "an error in JSON", type: "application/json", body: json("error") },
  { name: "a fault of a handler", body: proto("fault") },
  { name: "a large reply", body: proto("large") },
  { name: "a large reply, compressed", headers: { "accept-encoding": "br, gzip" }, body: proto("large") },
  {
    name: "an encoding that is not known for it",
    headers: { "accept-encoding": "zip" },
    body: proto("large"),
  },
  { name: "a reply that is too large", body: proto("too large") },
  { name: "a request that is too large", body: proto("x".repeat(20_001)) },
  { name: "a request that is almost too large", body: proto("x".repeat(19_990)) },
  { name: "a compressed request", headers: { "content-encoding": "gzip" }, body: gzipSync(proto("a")) },
  { name: "an unknown compression", headers: { "content-encoding": "zip" }, body: proto("a") },
  { name: "a compression that is none", headers: { "content-encoding": "identity" }, body: proto("a") },
  { name: "a timeout", headers: { "connect-timeout-ms": "60000" }, body: proto("a") },
  { name: "a timeout that is none", headers: { "connect-timeout-ms": "soon" }, body: proto("a") },
  { name: "a timeout that is too long", headers: { "connect-timeout-ms": "12345678901" }, body: proto("a") },
  { name: "another protocol version", headers: { "connect-protocol-version": "2" }, body: proto("a") },
  { name: "a content type that is not known", type: "text/plain", body: proto("a") },
  { name: "no content type", type: "", body: proto("a") },
  { name: "a content type with a parameter", type: "application/proto; v=1", body: proto("a") },
  { name: "a content type in capitals", type: "Application/Proto", body: proto("a") },
  { name: "a stream's content type", type: "application/connect+proto", body: encodeEnvelope(0, proto("a")) },
  { name: "gRPC-Web", type: "application/grpc-web+proto", body: encodeEnvelope(0, proto("a")) },
  { name: "GET", method: "GET", body: new Uint8Array() },
  { name: "PUT", method: "PUT", body: proto("a") },
  { name: "a query in the URL", rpc: "Read?a=1", body: proto("a") },
  { name: "a page of an allowed origin", headers: { origin }, body: proto("a") },
  { name: "a page of another origin", headers: { origin: "https://other.example.com" }, body: proto("a") },
  { name: "a sign-in", headers: { authorization: "Bearer ada" }, body: proto("a") },
  { name: "a sign-in that is refused", headers: { authorization: "Bearer bad" }, body: proto("a") },
  { name: "a header that is refused", headers: { "x-asked": "bad" }, body: proto("a") },
  { name: "a build that is refused", headers: { "holdfast-build": "1" }, body: proto("a") },
  { name: "a session that is too long", headers: { "holdfast-session": "s".repeat(129) }, body: proto("a") },
  { name: "a command without an ID", rpc: "Add", body: add("") },
  { name: "a command without the ID that it needs", rpc: "AddOnlyWithId", body: add("") },
  { name: "a command with an ID", rpc: "Add", headers: { "holdfast-call": call("a") }, body: add("") },
  {
    name: "a command in JSON",
    rpc: "Add",
    type: "application/json",
    headers: { "holdfast-call": call("b") },
    body: addJson,
  },
  { name: "a command that cannot be read", rpc: "Add", body: Uint8Array.of(0x0a, 0xff) },
  { name: "an ID that cannot be read", rpc: "Add", headers: { "holdfast-call": "?" }, body: add("") },
  { name: "a command whose reply is too large", rpc: "Add", body: add("large") },
  { name: "a command that is too large", rpc: "Add", body: add("x".repeat(20_001)) },
];

describe.each(["HTTP/1.1", "HTTP/2"] as const)("a unary request over %s", (version) => {
  it.each(table)("is answered as Connect's handlers do: $name", async (asked) => {
    const theirs = connects[version];
    if (asked.headers?.["holdfast-call"] !== undefined) await send(version, theirs, asked); // then both are repeats
    expect(await send(version, tally.address.port, asked)).toEqual(await send(version, theirs, asked));
  });

  it("is answered with the server's headers and the command's mark", async () => {
    const headers = { "holdfast-call": call("c") };
    const first = await send(version, tally.address.port, { name: "", rpc: "Add", headers, body: add("") });
    expect(first.headers).toMatchObject({ "holdfast-server": '1;build="2"', "holdfast-settled": "ran" });
    const second = await send(version, tally.address.port, { name: "", rpc: "Add", headers, body: add("") });
    expect(second.headers).toMatchObject({ "holdfast-repeat": "1" });
    expect(second.body).toBe(first.body);
  });
});
