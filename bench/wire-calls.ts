// Calls over a wire beside raw ws, in one run: server and client are processes of their own, and each kind is
// measured in turns. "ws" sends each message in a frame of its own, "ws-batch" all of a turn in one frame, with an ID,
// a promise and JSON for each call, as the least that calls can be.
//   npm run bench:wire -- [--kinds a,b] [--in-flight 1,64,1000] [--rounds N] [--ms N] [--json FILE]
// What is measured is the sources as one bundle: compiled file by file for a test, each function would get its name at
// every call. A profile of both processes: --prof FOLDER (one kind, one number in flight).
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { linkOf } from "holdfast";
import type { CommandDefinition, QueryDefinition, ServiceDefinition } from "holdfast/generated-v1";
import { createServer } from "holdfast/server";
import { WebSocket, WebSocketServer } from "ws";
import { CallService, type SmallSchema } from "./gen/bench/v1/bench_pb.ts";

const { values } = parseArgs({
  options: {
    kinds: { type: "string", default: "ws,ws-batch,query,command" },
    "in-flight": { type: "string", default: "1,64,1000" },
    rounds: { type: "string", default: "3" },
    ms: { type: "string", default: "1000" },
    json: { type: "string" },
    prof: { type: "string" },
    role: { type: "string" },
    kind: { type: "string" },
    port: { type: "string" },
    count: { type: "string" },
  },
});
type Kind = "ws" | "ws-batch" | "query" | "command";
const roundMs = Number(values.ms);
const warmUpMs = 2_500;
const text = "0123456789abcdef";

const look: QueryDefinition<typeof SmallSchema, typeof SmallSchema> = {
  kind: "query",
  method: CallService.method.get,
};
const mark: CommandDefinition<typeof SmallSchema, typeof SmallSchema> = {
  kind: "command",
  method: CallService.method.put,
};

interface Handlers {
  look(request: { text: string; n: number }): { text: string; n: number };
  mark(request: { text: string; n: number }): { text: string; n: number };
}

interface Said {
  readonly id: number;
  readonly text: string;
  readonly n: number;
}

/** Gathers what a turn says. */
function batch(send: (said: Said[]) => void): (one: Said) => void {
  let waiting: Said[] = [];
  return (one) => {
    if (waiting.push(one) > 1) return;
    queueMicrotask(() => {
      const said = waiting;
      waiting = [];
      send(said);
    });
  };
}

async function serveSockets(kind: "ws" | "ws-batch"): Promise<number> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  await once(server, "listening");
  const handler = async ({ id, text: said, n }: Said): Promise<Said> => ({ id, text: said, n: n + 1 });
  server.on("connection", (socket) => {
    const answer =
      kind === "ws"
        ? (one: Said) => socket.send(JSON.stringify(one))
        : batch((said) => socket.send(JSON.stringify(said)));
    socket.on("message", (data: Buffer) => {
      const said = JSON.parse(data.toString()) as Said | Said[];
      for (const one of Array.isArray(said) ? said : [said]) void handler(one).then(answer);
    });
  });
  return (server.address() as AddressInfo).port;
}

async function serveHoldfast(): Promise<number> {
  const echo: Handlers["look"] = ({ text: said, n }) => ({ text: said, n: n + 1 });
  const service = {
    $service: CallService,
    $methods: { look, mark },
  } as unknown as ServiceDefinition<Handlers>;
  const server = createServer().implement(service, { look: echo, mark: echo });
  const { port } = await server.listen({ host: "127.0.0.1" });
  return port;
}

/** Makes one call. */
type Call = (n: number) => Promise<{ readonly n: number }>;

async function callSockets(kind: "ws" | "ws-batch", port: number): Promise<Call> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  await once(socket, "open");
  const waiting = new Map<number, (said: Said) => void>();
  socket.on("message", (data: Buffer) => {
    const said = JSON.parse(data.toString()) as Said | Said[];
    for (const one of Array.isArray(said) ? said : [said]) {
      const resolve = waiting.get(one.id);
      waiting.delete(one.id);
      resolve?.(one);
    }
  });
  const send =
    kind === "ws"
      ? (one: Said) => socket.send(JSON.stringify(one))
      : batch((said) => socket.send(JSON.stringify(said)));
  let id = 0;
  return (n) =>
    new Promise((resolve) => {
      id += 1;
      waiting.set(id, resolve);
      send({ id, text, n });
    });
}

function callHoldfast(kind: "query" | "command", port: number): Call {
  const link = linkOf(`http://127.0.0.1:${port}`, { calls: "wire" });
  const definition = kind === "query" ? look : mark;
  return (n) => link.call(definition, { text, n });
}

const send = (message: object): void => void process.send?.(message);

async function serve(kind: Kind): Promise<void> {
  const port = kind === "query" || kind === "command" ? await serveHoldfast() : await serveSockets(kind);
  let start = process.cpuUsage();
  process.on("message", (what: string) => {
    const { user, system } = process.cpuUsage(start);
    if (what === "cpu") send({ cpuUs: user + system });
    start = process.cpuUsage();
  });
  send({ port });
}

async function runLanes(call: Call, laneCount: number, forMs: number, latencies: number[]): Promise<number> {
  const endMs = performance.now() + forMs;
  let count = 0;
  const lane = async (): Promise<void> => {
    for (let now = performance.now(); now < endMs; ) {
      const before = now;
      const reply = await call(count);
      if (typeof reply.n !== "number") throw new Error("no reply");
      count += 1;
      now = performance.now();
      if ((count & 7) === 0) latencies.push(now - before);
    }
  };
  await Promise.all(Array.from({ length: laneCount }, lane));
  return count;
}

async function call(kind: Kind, port: number): Promise<void> {
  const laneCount = Number(values.count);
  const one =
    kind === "query" || kind === "command" ? callHoldfast(kind, port) : await callSockets(kind, port);
  await runLanes(one, laneCount, warmUpMs, []);
  send({ ready: true });
  process.on("message", () => {
    const latencies: number[] = [];
    const start = process.cpuUsage();
    const startMs = performance.now();
    void runLanes(one, laneCount, roundMs, latencies).then((count) => {
      const { user, system } = process.cpuUsage(start);
      const seconds = (performance.now() - startMs) / 1_000;
      send({ count, seconds, cpuUs: user + system, p50Ms: median(latencies) });
    });
  });
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

interface Round {
  readonly perSecond: number;
  readonly clientUs: number;
  readonly serverUs: number;
  readonly p50Ms: number;
}

async function heard(child: ChildProcess): Promise<Record<string, number>> {
  const [answer] = (await once(child, "message")) as [Record<string, number>];
  return answer;
}

/** Where the packages of the bundle are found, and git looks for nothing. */
const bundleFolder = fileURLToPath(new URL("../node_modules/.cache/holdfast-bench", import.meta.url));

async function bundle(): Promise<string> {
  mkdirSync(bundleFolder, { recursive: true });
  const outfile = `${bundleFolder}/wire-calls-${process.pid}.mjs`;
  await build({
    entryPoints: [fileURLToPath(import.meta.url)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["holdfast-source"],
    external: ["esbuild", "ws", "proper-lockfile", "@bufbuild/*", "@connectrpc/*", "mutative"],
  });
  return outfile;
}

async function open(
  file: string,
  kind: Kind,
  count: number,
): Promise<{ round(): Promise<Round>; close(): Promise<void> }> {
  const run = (...more: string[]): ChildProcess =>
    fork(file, [...process.argv.slice(2), "--kind", kind, ...more], {
      execArgv: values.prof === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.prof}`],
    });
  const server = run("--role", "server");
  const { port } = await heard(server);
  const client = run("--role", "client", "--port", String(port), "--count", String(count));
  await heard(client);
  return {
    async round() {
      server.send("start");
      client.send("go");
      const its = await heard(client);
      server.send("cpu");
      const { cpuUs = 0 } = await heard(server);
      const calls = its["count"] ?? 0;
      return {
        perSecond: calls / (its["seconds"] ?? 1),
        clientUs: (its["cpuUs"] ?? 0) / calls,
        serverUs: cpuUs / calls,
        p50Ms: its["p50Ms"] ?? 0,
      };
    },
    async close() {
      for (const child of [client, server]) {
        child.disconnect();
        await once(child, "exit");
      }
    },
  };
}

async function measure(
  file: string,
  kinds: readonly Kind[],
  inFlight: number,
): Promise<Record<string, unknown>[]> {
  const opened: { readonly kind: Kind; readonly its: Awaited<ReturnType<typeof open>> }[] = [];
  // One after the other: each warms up alone.
  for (const kind of kinds) opened.push({ kind, its: await open(file, kind, inFlight) });
  const rounds = new Map<Kind, Round[]>(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { kind, its } of opened) rounds.get(kind)?.push(await its.round());
  }
  for (const { its } of opened) await its.close();
  return kinds.map((kind) => {
    const its = rounds.get(kind) ?? [];
    const middle = (of: (round: Round) => number): number => median(its.map(of));
    return {
      kind,
      inFlight,
      perSecond: Math.round(middle(({ perSecond }) => perSecond)),
      clientUs: Number(middle(({ clientUs }) => clientUs).toFixed(1)),
      serverUs: Number(middle(({ serverUs }) => serverUs).toFixed(1)),
      p50Ms: Number(middle(({ p50Ms }) => p50Ms).toFixed(3)),
    };
  });
}

if (values.role !== undefined) process.on("disconnect", () => process.exit());
if (values.role === "server") await serve(values.kind as Kind);
else if (values.role === "client") await call(values.kind as Kind, Number(values.port));
else {
  const kinds = values.kinds.split(",") as Kind[];
  const rows: Record<string, unknown>[] = [];
  const file = await bundle();
  try {
    for (const count of values["in-flight"].split(","))
      rows.push(...(await measure(file, kinds, Number(count))));
  } finally {
    rmSync(file);
  }
  console.table(rows);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(rows, null, 2));
  console.log(`wire-calls: ok ${rows.length} rows`);
}
