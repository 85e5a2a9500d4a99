/** What one small change of a state takes on the network. */
import type { Change } from "../peer.ts";
import { isForeign } from "../peers.ts";
import { startPair } from "../sides/pair.ts";
import type { Workload, WorkloadRow } from "../workload.ts";

const times = 20;
const changes: readonly (readonly [Change, string])[] = [
  ["append", "20 characters at the end of a text of 2,000"],
  ["field", "one field of one of 100 lines"],
  ["line", "one more line behind 100"],
];

function row(name: string, peer: string, change: Change): WorkloadRow {
  return {
    name,
    foreign: isForeign(peer),
    async open(options) {
      const { server, client, stop } = await startPair(peer, options);
      await client.watchers("watch", 1, 1);
      return {
        async round() {
          const before = await server.usage();
          for (let time = 0; time < times; time += 1) {
            const heard = client.heard(1);
            await server.change(change);
            await heard;
          }
          const after = await server.usage();
          return { "bytes each": (after.bytesOut - before.bytesOut) / times };
        },
        close: stop,
      };
    },
  };
}

export const workloads: readonly Workload[] = changes.map(([change, what]) => ({
  name: `state/${change}`,
  about: `Bytes to one watcher of a page of 100 lines and a text of 2,000 characters for one change: ${what}.`,
  base: "ws, the page in JSON",
  ratioOf: "bytes each",
  roundCount: 1,
  rows: [
    row("holdfast, msgpack", "holdfast, wire", change),
    row("holdfast, JSON", "holdfast, wire in JSON", change),
    row("Connect, the page in protobuf, gzip", "Connect, HTTP/2", change),
    row("socket.io, the page in JSON", "socket.io", change),
    row("ws, the page in JSON", "ws", change),
  ],
}));
