// One topic and many followers: what a follower costs the server in memory, and a delivery in time, beside Connect's
// own streaming with a queue for each client and raw ws. Server and clients are processes of their own. Over Follow and
// Connect the followers share HTTP/2 connections of a hundred; `wire` and `ws` have a WebSocket for each; `shared` has
// WebSockets of a thousand followers. The items of a burst are published in one turn, and the next burst when every
// follower has all of the last.
//   npm run bench:fan-out -- [--kinds follow,wire,shared,connect,ws] [--followers N] [--items N] [--burst N] [--json FILE]
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { resumable, type StreamDefinition } from "holdfast/generated-v1";
import { createServer } from "holdfast/server";
import { WebSocket, WebSocketServer } from "ws";
import { FanService, PacketSchema, type Small, SmallSchema } from "./gen/bench/v1/bench_pb.ts";

const { values } = parseArgs({
  options: {
    kinds: { type: "string", default: "follow,wire,shared,connect,ws" },
    followers: { type: "string", default: "1000" },
    items: { type: "string", default: "50" },
    burst: { type: "string", default: "1" },
    json: { type: "string" },
    role: { type: "string" },
    kind: { type: "string" },
    port: { type: "string" },
  },
});
const followerCount = Number(values.followers);
const itemCount = Number(values.items);
const burstCount = Number(values.burst);
const roundCount = Math.ceil(itemCount / burstCount);
/** Rounds that are not counted. */
const warmUpCount = 10;
/** Followers of one connection. */
const perConnection = { follow: 100, wire: 1, shared: 1_000, connect: 100, ws: 1 };
type Kind = keyof typeof perConnection;
/** Followers that open at once. */
const openingCount = 100;
const text = "x".repeat(200);

/** What a server under test can do. */
interface Fan {
  readonly port: number;
  publish(n: number): void;
}

async function holdfastFan(): Promise<Fan> {
  const tail: StreamDefinition<typeof SmallSchema, typeof SmallSchema> = {
    kind: "stream",
    method: FanService.method.tail,
    keepCount: 1_024,
    roomCount: 256,
    idleMs: 45_000,
    follower: resumable,
  };
  // Every follower is the same anonymous one from the same address.
  const many = { wiresPerCallerMost: 1_000_000, greetingsPerAddressMost: 1_000_000 };
  const server = createServer({ limits: many }).implement(
    { $service: FanService, $methods: { tail } },
    { tail: (_: unknown, ctx: { follow(topic: unknown): unknown }) => ctx.follow(topic) },
  );
  const topic = server.topic(tail, "");
  const { port } = await server.listen({ host: "127.0.0.1" });
  return { port, publish: (n) => void topic.publish({ n, text }) };
}

async function connectFan(): Promise<Fan> {
  const followers = new Set<{ queue: Small[]; wake: () => void }>();
  const routes = (router: ConnectRouter): void => {
    router.rpc(FanService.method.tail, async function* (_, { signal }) {
      const follower = { queue: [create(SmallSchema)], wake: (): void => undefined };
      followers.add(follower);
      signal.addEventListener("abort", () => followers.delete(follower));
      while (!signal.aborted) {
        yield* follower.queue.splice(0);
        await new Promise<void>((resolve) => (follower.wake = resolve));
      }
    });
  };
  const server = createHttp2Server(connectNodeAdapter({ routes })).listen(0, "127.0.0.1");
  await once(server, "listening");
  const publish = (n: number): void => {
    for (const follower of followers) {
      follower.queue.push(create(SmallSchema, { n, text }));
      follower.wake();
    }
  };
  return { port: (server.address() as AddressInfo).port, publish };
}

async function wsFan(): Promise<Fan> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  await once(server, "listening");
  server.on("connection", (socket) => socket.send("open"));
  const publish = (n: number): void => {
    const bytes = Buffer.from(JSON.stringify({ n, text }));
    for (const socket of server.clients) socket.send(bytes);
  };
  return { port: (server.address() as AddressInfo).port, publish };
}

const fans: Record<Kind, () => Promise<Fan>> = {
  follow: holdfastFan,
  wire: holdfastFan,
  shared: holdfastFan,
  connect: connectFan,
  ws: wsFan,
};

/** Opens one connection with so many followers; tells of each that is open, and of items. */
type Open = (port: number, count: number, opened: () => void, got: (count: number) => void) => void;

/** How often one text is in what came. */
function timesIn(data: Buffer, what: string): number {
  let count = 0;
  for (let at = data.indexOf(what); at >= 0; at = data.indexOf(what, at + what.length)) count += 1;
  return count;
}

let madeCount = 0;
const hello = (): object => ({
  hello: { version: 1, codec: "json", link: `l${madeCount++}`.padEnd(16, "-"), slot: "s", generation: 1 },
});
const follow = (stream: number): object => ({
  follow: { stream, method: "bench.v1.FanService.Tail", request: {} },
});

/** Hears pieces of a stream, which may be cut anywhere. */
function hearing(opened: () => void, got: (count: number) => void): (piece: Buffer) => void {
  const item = '"item":{"stream"';
  let rest = Buffer.alloc(0);
  let open = false;
  return (piece) => {
    const data = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (!open) for (let n = timesIn(data, '"ready"'); n > 0; n -= 1) opened();
    const count = timesIn(data, item);
    if (count > 0) {
      open = true;
      got(count);
    }
    // Less than a whole one, so that none is counted twice; `ready` comes in a piece of its own or before an item.
    const lastAt = data.lastIndexOf(item);
    const from = Math.max(lastAt + 1, data.length - item.length + 1, 0);
    rest = Buffer.from(data.subarray(from));
  };
}

/** One Follow on a connection: what is on the wire is read, without a client's own work. */
function openFollow(session: ClientHttp2Session, opened: () => void, got: (count: number) => void): void {
  const data = new TextEncoder().encode(JSON.stringify([hello(), follow(1)]));
  const packet = toBinary(PacketSchema, create(PacketSchema, { data }));
  const envelope = Buffer.alloc(5 + packet.length);
  envelope.writeUInt32BE(packet.length, 1);
  envelope.set(packet, 5);
  const stream = session.request({
    ":method": "POST",
    ":path": "/holdfast.link.v1.LinkService/Follow",
    "content-type": "application/connect+proto",
    "connect-protocol-version": "1",
  });
  stream.on("data", hearing(opened, got));
  stream.end(envelope);
}

/** A WebSocket with so many streams. */
function openWire(port: number, count: number, opened: () => void, got: (count: number) => void): void {
  const path = "holdfast.link.v1.LinkService/Open";
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${path}`, "holdfast.v1.json", {
    perMessageDeflate: false,
  });
  socket.once("open", () => socket.send(JSON.stringify([hello()])));
  socket.once("message", () => {
    socket.on("message", hearing(opened, got));
    socket.send(JSON.stringify(Array.from({ length: count }, (_, at) => follow(at + 1))));
  });
}

const opens: Record<Kind, Open> = {
  follow(port, count, opened, got) {
    const session = connect(`http://127.0.0.1:${port}`);
    for (let made = 0; made < count; made += 1) openFollow(session, opened, got);
  },
  wire: openWire,
  shared: openWire,
  connect(port, count, opened, got) {
    const baseUrl = `http://127.0.0.1:${port}`;
    const sessionManager = new Http2SessionManager(baseUrl);
    const client = createClient(
      FanService,
      createConnectTransport({ baseUrl, httpVersion: "2", sessionManager }),
    );
    const one = async (): Promise<void> => {
      for await (const { n } of client.tail({})) {
        if (n === 0) opened();
        else got(1);
      }
    };
    for (let made = 0; made < count; made += 1)
      one().catch((error: unknown) => send({ failed: String(error) }));
  },
  ws(port, _, opened, got) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
    socket.once("message", () => {
      opened();
      socket.on("message", () => got(1));
    });
  },
};

const send = (message: object): void => void process.send?.(message);
/** The same clock in both processes. */
const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n);

async function serve(kind: Kind): Promise<void> {
  const fan = await fans[kind]();
  const bytes = (): object => {
    for (let times = 0; times < 4; times += 1) globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    return { rss, heapUsed };
  };
  let n = 0;
  send({ port: fan.port, ...bytes() });
  process.on("message", (what: string) => {
    if (what === "bytes") send(bytes());
    if (what === "cpu") send({ cpuUs: process.cpuUsage().user + process.cpuUsage().system });
    if (what !== "publish") return;
    const fromUs = nowUs();
    for (let one = 0; one < burstCount; one += 1) fan.publish((n += 1));
    send({ fromUs });
  });
}

async function followAll(kind: Kind, port: number): Promise<void> {
  let openCount = 0;
  let gotCount = 0;
  const most = perConnection[kind];
  const opened = (): void => void (openCount += 1);
  const got = (count: number): void => {
    gotCount += count;
    if (gotCount < followerCount * burstCount) return;
    gotCount = 0;
    send({ lastUs: nowUs() });
  };
  for (let made = 0; made < followerCount; made += most) {
    const count = Math.min(most, followerCount - made);
    opens[kind](port, count, opened, got);
    while (made + count - openCount >= openingCount) await new Promise((resolve) => setImmediate(resolve));
  }
  while (openCount < followerCount) await new Promise((resolve) => setImmediate(resolve));
  send({ open: true });
}

interface Answer {
  readonly port: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly cpuUs: number;
  readonly fromUs: number;
  readonly lastUs: number;
  readonly failed?: string;
}

/** The next message of a process. */
async function heard(child: ChildProcess): Promise<Answer> {
  const [answer] = (await once(child, "message")) as [Answer];
  if (answer.failed !== undefined) throw new Error(answer.failed);
  return answer;
}

async function asked(child: ChildProcess, what: string): Promise<Answer> {
  child.send(what);
  return heard(child);
}

async function measure(kind: Kind): Promise<object> {
  const run = (...more: string[]): ChildProcess =>
    fork(fileURLToPath(import.meta.url), [...process.argv.slice(2), "--kind", kind, ...more], {
      execArgv: [...process.execArgv, "--expose-gc"],
    });
  const server = run("--role", "server");
  const before = await heard(server);
  const clients = run("--role", "clients", "--port", String(before.port));
  await heard(clients);
  const after = await asked(server, "bytes");
  const ms: number[] = [];
  let beforeUs = 0;
  for (let round = -warmUpCount; round < roundCount; round += 1) {
    if (round === 0) beforeUs = (await asked(server, "cpu")).cpuUs;
    const last = heard(clients);
    const { fromUs } = await asked(server, "publish");
    const { lastUs } = await last;
    if (round >= 0) ms.push((lastUs - fromUs) / 1_000);
  }
  const { cpuUs } = await asked(server, "cpu");
  server.disconnect();
  clients.kill();
  ms.sort((a, b) => a - b);
  const rounded = (value: number): number => Math.round(100 * value) / 100;
  return {
    kind,
    heapKibPerFollower: rounded((after.heapUsed - before.heapUsed) / followerCount / 1_024),
    rssKibPerFollower: rounded((after.rss - before.rss) / followerCount / 1_024),
    lastDeliveryMs: rounded(ms[ms.length >> 1] ?? Number.NaN),
    best: rounded(ms[0] ?? Number.NaN),
    serverCpuUsPerDelivery: rounded((cpuUs - beforeUs) / (followerCount * roundCount * burstCount)),
  };
}

if (values.role !== undefined) process.on("disconnect", () => process.exit());
if (values.role === "server") await serve(values.kind as Kind);
else if (values.role === "clients") await followAll(values.kind as Kind, Number(values.port));
else {
  const rows: object[] = [];
  for (const kind of values.kinds.split(",")) rows.push(await measure(kind as Kind));
  console.table(rows);
  if (values.json !== undefined)
    writeFileSync(values.json, JSON.stringify({ followerCount, itemCount, rows }, null, 2));
  console.log(`fan-out: ok ${followerCount} followers, ${itemCount} items in bursts of ${burstCount}`);
}
