/** A server's stream to one reader, as fast as the reader takes it. */
import { isForeign } from "../peers.ts";
import { startPair } from "../sides/pair.ts";
import type { Figures, Workload, WorkloadRow } from "../workload.ts";

function row(peer: string): WorkloadRow {
  return {
    name: peer,
    foreign: isForeign(peer),
    async open(options) {
      const { server, client, stop } = await startPair(peer, options);
      const run = async (seconds: number): Promise<Figures> => {
        const before = await server.usage();
        const its = await client.pour(seconds);
        const after = await server.usage();
        return {
          "items/s": its.count / its.seconds,
          "client µs": its.cpuUs / its.count,
          "server µs": (after.cpuUs - before.cpuUs) / its.count,
          "bytes each": (after.bytesOut - before.bytesOut) / its.count,
        };
      };
      return {
        async warmUp() {
          await run(options.warmUpSeconds);
        },
        round: () => run(options.seconds),
        close: stop,
      };
    },
  };
}

export const workloads: readonly Workload[] = [
  {
    name: "streams/64 bytes",
    about: "A server's stream of items of 64 bytes to one reader, as fast as it is read.",
    base: "Connect, HTTP/2",
    ratioOf: "items/s",
    rows: [
      "holdfast, HTTP/2",
      "holdfast, shared wire",
      "Connect, HTTP/2",
      "gRPC",
      "tRPC, WebSocket",
      "socket.io",
      "ws",
      "ws, batched",
      "net, batched",
    ].map(row),
  },
];
