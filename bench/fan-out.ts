// One topic and many followers: what a follower costs the server in memory, and a delivery in time, beside Connect's
// own streaming with a queue for each client and raw ws. Server and clients are processes of their own; holdfast's and
// Connect's followers share HTTP/2 connections of a hundred, ws has a socket for each.
//   npm run bench:fan-out -- [--followers N] [--items N] [--burst N] [--json FILE]
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { createClient, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { resumable, type StreamDefinition } from "holdfast/generated-v1";
import { createServer } from "holdfast/server";
import { WebSocket, WebSocketServer } from "ws";
import { FanService, PacketSchema, type Small, SmallSchema } from "./gen/bench/v1/bench_pb.ts";

const { values } = parseArgs({
  options: {
    followers: { type: "string", default: "10000" },
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
const kinds = ["holdfast", "connect", "ws"] as const;
type Kind = (typeof kinds)[number];
const perConnection = 100;
const text = "x".repeat(100);

/** What a server under test can do. */
interface Fan {
  readonly port: number;
  publish(n: number): void;
}

const servers: Record<Kind, () => Promise<Fan>> = {
  async holdfast() {
    const tail: StreamDefinition<typeof SmallSchema, typeof SmallSchema> = {
      kind: "stream",
      method: FanService.method.tail,
      keepCount: 1_024,
      roomCount: 256,
      idleMs: 45_000,
      follower: resumable,
    };
    const server = createServer().implement(
      { $service: FanService, $methods: { tail } },
      { tail: (_: unknown, ctx: { follow(topic: unknown): unknown }) => ctx.follow(topic) },
    );
    const topic = server.topic(tail, "");
    const { port } = await server.listen({ host: "127.0.0.1" });
    return { port, publish: (n) => void topic.publish({ n, text }) };
  },
  async connect() {
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
  },
  async ws() {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
    await once(server, "listening");
    server.on("connection", (socket) => socket.send("open"));
    const publish = (n: number): void => {
      const bytes = Buffer.from(JSON.stringify({ n, text }));
      for (const socket of server.clients) socket.send(bytes);
    };
    return { port: (server.address() as AddressInfo).port, publish };
  },
};

/** `LinkService.Follow`, whose schema is no public name. */
const followMethod = {
  ...FanService.method.tail,
  name: "Follow",
  parent: { ...FanService, typeName: "holdfast.link.v1.LinkService" },
  input: PacketSchema,
  output: PacketSchema,
};

async function* alone<T>(message: T): AsyncGenerator<T> {
  yield message;
}

/** Follows once: calls `opened` with the first message, and then `got` with how many items came. */
type Follow = (opened: () => void, got: (count: number) => void) => Promise<void>;

function follower(kind: Kind, port: number): () => Follow {
  const baseUrl = `http://127.0.0.1:${port}`;
  const transport = () =>
    createConnectTransport({ baseUrl, httpVersion: "2", sessionManager: new Http2SessionManager(baseUrl) });
  const hello = { version: 1, codec: "json", link: "l".repeat(16), slot: "s", generation: 1 };
  const follow = { stream: 1, method: "bench.v1.FanService.Tail", request: {} };
  const data = new TextEncoder().encode(JSON.stringify([{ hello }, { follow }]));
  switch (kind) {
    case "holdfast":
      return () => {
        const its = transport();
        return async (opened, got) => {
          const { message } = await its.stream(
            followMethod,
            undefined,
            undefined,
            undefined,
            alone({ data }),
          );
          for await (const packet of message) {
            const said = Buffer.from(packet.data).toString("latin1");
            if (said.includes('"welcome"')) opened();
            else got(said.split('"seq"').length - 1);
          }
        };
      };
    case "connect":
      return () => {
        const client = createClient(FanService, transport());
        return async (opened, got) => {
          for await (const { n } of client.tail({})) {
            if (n === 0) opened();
            else got(1);
          }
        };
      };
    case "ws":
      return () => async (opened, got) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
        socket.once("message", () => {
          opened();
          socket.on("message", () => got(1));
        });
        await once(socket, "close");
      };
  }
}

const send = (message: object): void => void process.send?.(message);

async function serve(kind: Kind): Promise<void> {
  const fan = await servers[kind]();
  const rss = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().rss;
  };
  let n = 0;
  let startCpu = process.cpuUsage();
  send({ port: fan.port, rss: rss() });
  process.on("message", (what: string) => {
    if (what === "rss") send({ rss: rss() });
    if (what === "cpu") {
      const { user, system } = process.cpuUsage(startCpu);
      send({ cpuUs: user + system });
    }
    if (what !== "publish") return;
    startCpu = process.cpuUsage();
    const turn = (): void => {
      for (let one = 0; one < burstCount && n < itemCount; one += 1) fan.publish((n += 1));
      if (n < itemCount) setImmediate(turn);
    };
    turn();
  });
}

async function follow(kind: Kind, port: number): Promise<void> {
  const connection = follower(kind, port);
  let openCount = 0;
  let gotCount = 0;
  let its: Follow | undefined;
  for (let made = 0; made < followerCount; made += 1) {
    if (made % perConnection === 0) its = connection();
    const opening = new Promise<void>((resolve) => {
      its?.(
        () => {
          openCount += 1;
          resolve();
        },
        (count) => {
          gotCount += count;
          if (gotCount === followerCount * itemCount) send({ done: true });
        },
      ).catch((error: unknown) => send({ failed: String(error) }));
    });
    if (made % perConnection === perConnection - 1) await opening;
  }
  while (openCount < followerCount) await new Promise((resolve) => setImmediate(resolve));
  send({ open: true });
}

interface Answer {
  readonly port: number;
  readonly rss: number;
  readonly cpuUs: number;
  readonly failed?: string;
}

/** The next message of a process. */
async function heard(child: ChildProcess): Promise<Answer> {
  const [answer] = (await once(child, "message")) as [Answer];
  if (answer.failed !== undefined) throw new Error(answer.failed);
  return answer;
}

async function measure(kind: Kind): Promise<object> {
  const run = (...more: string[]): ChildProcess =>
    fork(fileURLToPath(import.meta.url), [...process.argv.slice(2), "--kind", kind, ...more], {
      execArgv: [...process.execArgv, "--expose-gc"],
    });
  const server = run("--role", "server");
  const { port, rss } = await heard(server);
  const clients = run("--role", "clients", "--port", String(port));
  await heard(clients);
  server.send("rss");
  const bytesEach = ((await heard(server)).rss - rss) / followerCount;
  const startMs = performance.now();
  server.send("publish");
  await heard(clients);
  const seconds = (performance.now() - startMs) / 1_000;
  server.send("cpu");
  const { cpuUs } = await heard(server);
  server.kill();
  clients.kill();
  const deliveries = followerCount * itemCount;
  return {
    kind,
    kibPerFollower: Math.round(bytesEach / 102.4) / 10,
    deliveriesPerSecond: Math.round(deliveries / seconds),
    serverCpuUsPerDelivery: Math.round((100 * cpuUs) / deliveries) / 100,
  };
}

if (values.role !== undefined) process.on("disconnect", () => process.exit());
if (values.role === "server") await serve(values.kind as Kind);
else if (values.role === "clients") await follow(values.kind as Kind, Number(values.port));
else {
  const rows: object[] = [];
  for (const kind of kinds) rows.push(await measure(kind));
  console.table(rows);
  if (values.json !== undefined)
    writeFileSync(values.json, JSON.stringify({ followerCount, itemCount, rows }, null, 2));
  console.log(`fan-out: ok ${followerCount} followers, ${itemCount} items in bursts of ${burstCount}`);
}
