/** One request and one reply, with as many in flight: queries, commands that run once, durable ones, and peers' calls. */
import { isForeign } from "../peers.ts";
import type { CallKind } from "../sides/client-side.ts";
import { startPair } from "../sides/pair.ts";
import type { Figures, Workload, WorkloadRow } from "../workload.ts";

const ways = ["HTTP/2", "HTTP/1.1", "wire", "wire in JSON"] as const;
const others = [
  "Connect, HTTP/2",
  "Connect, HTTP/1.1",
  "Connect, duplex",
  "gRPC",
  "gRPC, duplex",
  "tRPC, WebSocket",
  "tRPC, HTTP",
  "tRPC, HTTP in batches",
  "capnweb",
  "socket.io",
  "ws",
  "ws, batched",
  "net, batched",
  "node:http2",
];

function row(name: string, peer: string, kind: CallKind, inFlight: number, durable = false): WorkloadRow {
  return {
    name,
    foreign: isForeign(peer),
    async open(options) {
      const { server, client, stop } = await startPair(peer, options, durable);
      const run = async (seconds: number, lanes: number): Promise<Figures> => {
        const before = await server.usage();
        const its = await client.calls(kind, lanes, seconds);
        const after = await server.usage();
        const each = (from: number, to: number): number => (to - from) / its.count;
        return {
          "calls/s": its.count / its.seconds,
          "p50 ms": its.p50Ms,
          "p99 ms": its.p99Ms,
          "client µs": its.cpuUs / its.count,
          "server µs": each(before.cpuUs, after.cpuUs),
          "bytes up": each(before.bytesIn, after.bytesIn),
          "bytes down": each(before.bytesOut, after.bytesOut),
        };
      };
      return {
        async warmUp() {
          await run(options.warmUpSeconds, 64);
          if (inFlight !== 64) await run(options.seconds, inFlight);
        },
        round: () => run(options.seconds, inFlight),
        close: stop,
      };
    },
  };
}

function workload(inFlight: number): Workload {
  const own = ways.flatMap((way) => [
    row(`holdfast query, ${way}`, `holdfast, ${way}`, "ask", inFlight),
    row(`holdfast command, ${way}`, `holdfast, ${way}`, "enter", inFlight),
  ]);
  const reference = row("holdfast command on a reference", "holdfast, reference", "enter", inFlight);
  const durable = (["HTTP/2", "wire"] as const).map((way) =>
    row(`holdfast durable command, ${way}`, `holdfast, ${way}`, "enter", inFlight, true),
  );
  return {
    name: `calls/${inFlight.toLocaleString("en")} in flight`,
    about:
      "A text of 16 letters and a number go to the server, and come back with the number that follows. " +
      "Commands run once: their replies are kept, durable ones in SQLite with the commit on disk before the reply; " +
      "the one on a reference changes its state too, of which the caller hears.",
    base: "ws, batched",
    ratioOf: "calls/s",
    rows: [...own, reference, ...durable, ...others.map((peer) => row(peer, peer, "ask", inFlight))],
  };
}

export const workloads: readonly Workload[] = [1, 64, 1_000].map(workload);
