/** Peers that misbehave: each is refused or cut by itself, and a good one beside them notices nothing. */
import { once } from "node:events";
import * as http2 from "node:http2";
import * as net from "node:net";
import { gzipSync } from "node:zlib";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, expect, test } from "vitest";
import { virtualClock, type VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { TallyService } from "../gen/test/v1/tally_pb.ts";
import { post, told } from "../support/raw-calls.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";

const add = "/test.v1.TallyService/Add";

let clock: VirtualClock;
let tally: TallyServer;
const opened: { destroy(): void }[] = [];

beforeEach(async () => {
  clock = virtualClock();
  tally = await startTally({ clock });
});
afterEach(async () => {
  for (const one of opened.splice(0)) one.destroy();
  await tally.server.close({ within: 0 });
});

/** A good client's call, on a connection of its own. */
async function expectOthersUnharmed(): Promise<void> {
  const answer = await told(await post(tally.address, "Add", { amount: "1" }));
  expect(answer).toMatchObject({ status: 200, mark: "ran" });
}

function socket(): net.Socket {
  const made = net.connect(tally.address.port, tally.address.host);
  made.on("error", () => undefined);
  opened.push(made);
  return made;
}

function session(options: http2.ClientSessionOptions = {}): http2.ClientHttp2Session {
  const made = http2.connect(tally.address.url, options);
  made.on("error", () => undefined);
  opened.push(made);
  return made;
}

/** Everything that a socket says until it ends. */
async function heard(from: net.Socket): Promise<string> {
  const pieces: Buffer[] = [];
  from.on("data", (piece: Buffer) => pieces.push(piece));
  await once(from, "close");
  return Buffer.concat(pieces).toString("latin1");
}

const call = { ":method": "POST", ":path": add, "content-type": "application/json" };

function answerOf(stream: http2.ClientHttp2Stream): Promise<{ status?: number; text: string; rst: number }> {
  return new Promise((resolve) => {
    let status: number | undefined;
    let text = "";
    stream.setEncoding("utf8");
    stream.on("response", (headers) => (status = headers[":status"]));
    stream.on("data", (piece: string) => (text += piece));
    stream.on("error", () => undefined);
    stream.on("close", () => {
      resolve({ ...(status === undefined ? {} : { status }), text, rst: stream.rstCode });
    });
  });
}

test.each([
  ["no host", `POST ${add} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`, "400"],
  ["an impossible host", `POST ${add} HTTP/1.1\r\nhost: a b[\r\ncontent-length: 0\r\n\r\n`, "400"],
  ["no HTTP", "\x16\x03\x01\x02\x00hello\r\n\r\n", "400 Bad Request"],
  ["a header with NUL", `POST ${add} HTTP/1.1\r\nhost: a\r\nholdfast-call: a\0b\r\n\r\n`, "400 Bad Request"],
  ["headers of 20 KiB", `GET / HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(20_480)}\r\n\r\n`, "431"],
  [
    "an upgrade that nobody takes",
    "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    "404",
  ],
])("a request with %s is refused by name, and the process lives", async (_what, text, status) => {
  const peer = socket();
  const answer = heard(peer);
  peer.write(text);
  setTimeout(() => peer.end(), 300);
  expect((await answer).split("\r\n")[0]).toContain(status);
  await expectOthersUnharmed();
});

test("65 header lines are refused over HTTP/1.1 and over HTTP/2, 64 are not", async () => {
  const lines = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, "1"]));
  const over1 = async (count: number): Promise<string> => {
    const peer = socket();
    const answer = heard(peer);
    const extra = Object.entries(lines(count - 3)).map(([name, value]) => `${name}: ${value}\r\n`);
    peer.write(
      `POST ${add} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${extra.join("")}content-length: 2\r\n\r\n{}`,
    );
    setTimeout(() => peer.end(), 300);
    return (await answer).split("\r\n")[0] ?? "";
  };
  expect(await over1(64)).toContain("200");
  expect(await over1(69)).toContain("431");
  const over2 = (count: number): Promise<{ status?: number; rst: number }> => {
    const stream = session().request({ ...call, ...lines(count - 1) });
    stream.end("{}");
    return answerOf(stream);
  };
  expect(await over2(64)).toMatchObject({ status: 200 });
  expect(await over2(65)).toMatchObject({ rst: http2.constants.NGHTTP2_ENHANCE_YOUR_CALM });
  await expectOthersUnharmed();
});

test("HTTP/2 without an authority is refused, and the process lives", async () => {
  const peer = session();
  const stream = peer.request({ ...call, ":authority": "[" });
  stream.end("{}");
  const { status, rst } = await answerOf(stream);
  expect(status ?? rst).not.toBe(200);
  await expectOthersUnharmed();
});

test("a malformed HPACK block ends that connection alone", async () => {
  const peer = socket();
  const ended = heard(peer);
  const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  // HEADERS of stream 1 whose block names an entry that no table has.
  const headers = Buffer.from([0, 0, 5, 1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x7f]);
  peer.write(Buffer.concat([preface, settings, headers]));
  await expectOthersUnharmed();
  await untilClosed(ended, 10_000);
});

test("rapid reset: more than 100 resets in 10 s end that connection", async () => {
  const peer = session();
  await once(peer, "connect");
  const closed = new Promise((resolve) => peer.once("close", resolve));
  let goaway: number | undefined;
  peer.on("goaway", (code: number) => (goaway = code));
  for (let round = 0; round < 10; round += 1) {
    for (let at = 0; at < 30; at += 1) {
      if (peer.closed || peer.destroyed) break;
      const stream = peer.request(call);
      stream.on("error", () => undefined);
      stream.close(http2.constants.NGHTTP2_CANCEL);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  expect(goaway).toBe(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect(tally.count.runs).toBe(0);
  await expectOthersUnharmed();
});

test("100 resets over a longer time are a client that gave up some calls", async () => {
  const peer = session();
  await once(peer, "remoteSettings");
  for (let at = 0; at < 150; at += 1) {
    const stream = peer.request(call);
    const over = answerOf(stream);
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await over;
    await clock.advance(200);
  }
  const last = peer.request(call);
  last.end("{}");
  expect(await answerOf(last)).toMatchObject({ status: 200 });
});

test("3,000 requests at once on one connection are served 128 at a time", async () => {
  const peer = session();
  await once(peer, "remoteSettings");
  let most = 0;
  const answers = Array.from({ length: 3_000 }, () => {
    const stream = peer.request(call);
    stream.end('{"amount":"1"}');
    return answerOf(stream);
  });
  const watch = setInterval(() => (most = Math.max(most, peer.state.outboundQueueSize ?? 0)), 5);
  await expectOthersUnharmed();
  const statuses = new Set((await Promise.all(answers)).map(({ status }) => status));
  clearInterval(watch);
  expect([...statuses]).toEqual([200]);
});

test.each(["gzip", "identity"] as const)(
  "a body that grows beyond its limit is refused: %s",
  async (encoding) => {
    const large = Buffer.alloc(64 * 1_048_576, 0x20);
    const body = encoding === "gzip" ? gzipSync(large) : large.subarray(0, 6 * 1_048_576);
    const peer = session();
    const stream = peer.request({
      ...call,
      ...(encoding === "gzip" ? { "content-encoding": encoding } : {}),
    });
    const before = process.memoryUsage().rss;
    stream.end(body);
    const answer = await answerOf(stream);
    expect(answer).toMatchObject({ status: 429 });
    expect(answer.text).toContain("4194304 bytes");
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1_048_576);
    await expectOthersUnharmed();
  },
);

test("a compressed request inside the limit is read", async () => {
  const stream = session().request({ ...call, "content-encoding": "gzip" });
  stream.end(gzipSync('{"amount":"3"}'));
  expect(await answerOf(stream)).toMatchObject({ status: 200, text: '{"total":"3"}' });
});

test("a connection that says nothing is closed after 10 s", async () => {
  const peer = socket();
  const closed = once(peer, "close");
  await once(peer, "connect");
  await clock.advance(9_000);
  expect(peer.destroyed).toBe(false);
  await untilClosed(closed, 1_000);
});

test("an HTTP/2 connection without a request is closed after 10 s, one that had one after 15 min", async () => {
  const idle = session();
  await once(idle, "remoteSettings");
  const used = session();
  const stream = used.request(call);
  stream.end("{}");
  await answerOf(stream);
  const usedClosed = once(used, "close");
  await untilClosed(once(idle, "close"), 10_000);
  expect(used.destroyed).toBe(false);
  await clock.advance(14 * 60_000);
  expect(used.destroyed).toBe(false);
  await untilClosed(usedClosed, 60_000);
});

test("a body that stops coming is answered after 30 s, and its place is free", async () => {
  const stream = session().request(call);
  stream.write("{");
  await arrived();
  const answer = answerOf(stream);
  await passing(2_000); // the answer after 30 s, and the end of the unfinished request after 30 more
  expect(await answer).toMatchObject({ status: 504 });
  await expectOthersUnharmed();
});

test("an answer that nobody takes is cut", async () => {
  const peer = session({ settings: { initialWindowSize: 0 } });
  await once(peer, "remoteSettings");
  const stream = peer.request({ ...call, ":path": "/test.v1.TallyService/Read" });
  stream.end(JSON.stringify({ text: "x".repeat(100_000) }));
  const answer = answerOf(stream);
  await once(stream, "response");
  await passing(5_000);
  expect(await answer).toMatchObject({ rst: http2.constants.NGHTTP2_CANCEL });
});

test("500 slow connections leave a good client alone", async () => {
  const slow = Array.from({ length: 500 }, () => {
    const peer = socket();
    peer.write("POST /test.v1.TallyService/Add HTTP/1.1\r\nhost: a\r\nx: ");
    return peer;
  });
  await Promise.all(slow.map((peer) => once(peer, "connect")));
  const client = createClient(
    TallyService,
    createConnectTransport({ baseUrl: tally.address.url, httpVersion: "1.1" }),
  );
  for (let at = 0; at < 20; at += 1) await client.add({ amount: 1n });
  expect(tally.count.runs).toBe(20);
});

/** Lets the server read what was sent: a call on another connection is answered after it. */
async function arrived(): Promise<void> {
  for (let at = 0; at < 3; at += 1) await expectOthersUnharmed();
}

/** Lets time pass in steps, with what the network does between them. */
async function passing(stepMs: number): Promise<void> {
  for (let at = 0; at < 40; at += 1) {
    await clock.advance(stepMs);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function untilClosed(closed: Promise<unknown>, waitMs: number): Promise<void> {
  await clock.advance(waitMs);
  await closed;
}
