// What a call over HTTP costs: holdfast's queries and commands that run once, plain Connect over the same transport,
// and Node's own HTTP below both. Server and client are processes of their own; CPU time of both, in turns in one run.
//   npm run bench:unary -- [--kinds a,b] [--in-flight 1,64,1000] [--rounds N] [--round-ms N] [--prof DIR] [--json FILE]
// With --prof each process writes a CPU profile into that folder.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttp1Server } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport } from "@connectrpc/connect-node";
import { linkOf } from "holdfast/node";
import type { CommandDefinition, QueryDefinition, ServiceDefinition } from "holdfast/generated-v1";
import { createServer } from "holdfast/server";
import { CallService, type Small, SmallSchema } from "./gen/bench/v1/bench_pb.ts";

const { values } = parseArgs({
  options: {
    kinds: { type: "string" },
    "in-flight": { type: "string", default: "1,64,1000" },
    rounds: { type: "string", default: "5" },
    "round-ms": { type: "string", default: "400" },
    prof: { type: "string" },
    json: { type: "string" },
    role: { type: "string" },
    kind: { type: "string" },
    port: { type: "string" },
  },
});

const text = "sixteen letters!";
const answered = ({ text: its, n }: Small): { text: string; n: number } => ({ text: its, n: n + 1 });

type Get = QueryDefinition<typeof SmallSchema, typeof SmallSchema>;
type Put = CommandDefinition<typeof SmallSchema, typeof SmallSchema>;
const get: Get = { kind: "query", method: CallService.method.get };
const put: Put = { kind: "command", method: CallService.method.put };
interface Handlers {
  get(request: Small): { text: string; n: number };
  put(request: Small): { text: string; n: number };
}
const service = { $service: CallService, $methods: { get, put } } as unknown as ServiceDefinition<Handlers>;

/** One call after the other, `n` of each told apart. */
type Call = (n: number) => Promise<{ readonly n: number }>;

interface Peer {
  /** Serves on a free port. */
  serve(): Promise<number>;
  call(port: number): Promise<Call>;
}

async function holdfastServer(): Promise<number> {
  const server = createServer().implement(service, { get: answered, put: answered });
  return (await server.listen({ host: "127.0.0.1" })).port;
}

const holdfast = (definition: Get | Put, httpVersion: "2" | "1.1"): Peer => ({
  serve: holdfastServer,
  async call(port) {
    const link = linkOf(`http://127.0.0.1:${port}`, { httpVersion, calls: "http" });
    return (n) => link.call(definition, { text, n });
  },
});

const plainConnect = (httpVersion: "2" | "1.1", useBinaryFormat = true): Peer => ({
  async serve() {
    const routes = (router: ConnectRouter): void => {
      router.service(CallService, { get: answered, put: answered });
    };
    const adapter = connectNodeAdapter({ routes });
    const server = httpVersion === "2" ? createHttp2Server(adapter) : createHttp1Server(adapter);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as AddressInfo).port;
  },
  async call(port) {
    const transport = createConnectTransport({
      baseUrl: `http://127.0.0.1:${port}`,
      httpVersion,
      useBinaryFormat,
    });
    const client = createClient(CallService, transport);
    return (n) => client.get({ text, n });
  },
});

/** A plain client of a holdfast server: what the server's side alone costs. */
const mixed: Peer = { serve: holdfastServer, call: (port) => plainConnect("2").call(port) };

/** The same bytes over Node's own HTTP/2, with nothing around them. */
const raw: Peer = {
  async serve() {
    const server = createHttp2Server();
    server.on("stream", (stream) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const body = chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
        const reply = create(SmallSchema, answered(fromBinary(SmallSchema, body)));
        stream.respond({ ":status": 200, "content-type": "application/proto" });
        stream.end(toBinary(SmallSchema, reply));
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as AddressInfo).port;
  },
  async call(port) {
    const session = connect(`http://127.0.0.1:${port}`);
    await once(session, "remoteSettings");
    const head = {
      ":method": "POST",
      ":path": "/bench.v1.CallService/Get",
      "content-type": "application/proto",
    };
    return (n) =>
      new Promise((resolve, reject) => {
        const stream = session.request(head);
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => resolve(fromBinary(SmallSchema, Buffer.concat(chunks))));
        stream.on("error", reject);
        stream.end(toBinary(SmallSchema, create(SmallSchema, { text, n })));
      });
  },
};

const peers: Record<string, Peer> = {
  "holdfast query": holdfast(get, "2"),
  "holdfast command": holdfast(put, "2"),
  connect: plainConnect("2"),
  "connect json": plainConnect("2", false),
  "connect to holdfast": mixed,
  http2: raw,
  "holdfast query 1.1": holdfast(get, "1.1"),
  "holdfast command 1.1": holdfast(put, "1.1"),
  "connect 1.1": plainConnect("1.1"),
};
const kinds = values.kinds?.split(",") ?? Object.keys(peers);
const inFlights = values["in-flight"].split(",").map(Number);
const rounds = Number(values.rounds);
const roundMs = Number(values["round-ms"]);

function peerOf(kind: string | undefined): Peer {
  const peer = peers[kind ?? ""];
  if (peer === undefined) throw new Error(`no kind "${kind ?? ""}": one of ${Object.keys(peers).join(", ")}`);
  return peer;
}

const say = (message: object): void => void process.send?.(message);
const cpuUs = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

async function serve(): Promise<void> {
  process.on("message", () => say({ cpuUs: cpuUs() }));
  say({ port: await peerOf(values.kind).serve() });
}

async function callFor(call: Call, inFlight: number, ms: number): Promise<Round> {
  const startCpu = cpuUs();
  const from = performance.now();
  let count = 0;
  const lane = async (): Promise<void> => {
    for (; performance.now() - from < ms; count += 1) {
      const { n } = await call(count);
      if (n === 0) throw new Error("a wrong reply");
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return { count, seconds: (performance.now() - from) / 1_000, cpuUs: cpuUs() - startCpu };
}

async function client(): Promise<void> {
  const call = await peerOf(values.kind).call(Number(values.port));
  process.on("message", ({ inFlight, ms }: { inFlight: number; ms: number }) => {
    void callFor(call, inFlight, ms).then(say, (error: unknown) => say({ failed: String(error) }));
  });
  say({ ready: true });
}

interface Round {
  readonly count: number;
  readonly seconds: number;
  readonly cpuUs: number;
}

async function heard<T>(child: ChildProcess): Promise<T> {
  const [answer] = (await once(child, "message")) as [T & { readonly failed?: string }];
  if (answer.failed !== undefined) throw new Error(answer.failed);
  return answer;
}

interface Pair {
  readonly kind: string;
  readonly server: ChildProcess;
  readonly client: ChildProcess;
}

async function start(kind: string): Promise<Pair> {
  const prof = (role: string): string[] =>
    values.prof === undefined
      ? []
      : [
          "--cpu-prof",
          `--cpu-prof-dir=${values.prof}`,
          `--cpu-prof-name=${kind.replaceAll(" ", "-")}-${role}.cpuprofile`,
        ];
  const run = (role: string, ...more: string[]): ChildProcess =>
    fork(fileURLToPath(import.meta.url), ["--role", role, "--kind", kind, ...more], {
      execArgv: [...process.execArgv, ...prof(role)],
    });
  const server = run("server");
  const { port } = await heard<{ port: number }>(server);
  const client = run("client", "--port", String(port));
  await heard(client);
  return { kind, server, client };
}

async function round({ server, client }: Pair, inFlight: number, ms: number): Promise<number[]> {
  server.send({});
  const before = await heard<Round>(server);
  client.send({ inFlight, ms });
  const its = await heard<Round>(client);
  server.send({});
  const after = await heard<Round>(server);
  return [its.count / its.seconds, its.cpuUs / its.count, (after.cpuUs - before.cpuUs) / its.count];
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

async function stop({ server, client }: Pair): Promise<void> {
  for (const child of [client, server]) {
    child.disconnect();
    await once(child, "exit");
  }
}

async function main(): Promise<void> {
  const pairs: Pair[] = [];
  for (const kind of kinds) pairs.push(await start(kind));
  for (const pair of pairs) await round(pair, 64, 2 * roundMs); // warms up
  const rows: object[] = [];
  for (const inFlight of inFlights) {
    const figures = new Map(pairs.map((pair) => [pair, [] as number[][]]));
    for (let number = 0; number < rounds; number += 1)
      for (const pair of pairs) figures.get(pair)?.push(await round(pair, inFlight, roundMs));
    for (const [{ kind }, its] of figures) {
      const [perSecond, clientUs, serverUs] = [0, 1, 2].map((at) =>
        Math.round(median(its.map((one) => one[at] ?? 0))),
      );
      rows.push({ kind, inFlight, perSecond, clientUs, serverUs, bothUs: (clientUs ?? 0) + (serverUs ?? 0) });
    }
  }
  console.table(rows);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
  await Promise.all(pairs.map(stop));
  console.log(`unary-http: ok ${kinds.length} kinds, ${rounds} rounds of ${roundMs} ms each`);
}

if (values.role !== undefined) process.on("disconnect", () => process.exit());
if (values.role === "server") await serve();
else if (values.role === "client") await client();
else await main();
