/** All connections are cut: when all that a client holds is live again, and what that takes in bytes. */
import { isForeign } from "../peers.ts";
import { startPair } from "../sides/pair.ts";
import { medianOf } from "./median-of.ts";
import type { Figures, Workload, WorkloadRow } from "../workload.ts";

const dropsPerRound = 5;

function row(name: string, peer: string, count: number, changed = false): WorkloadRow {
  return {
    name,
    foreign: isForeign(peer),
    async open(options) {
      const { server, client, stop } = await startPair(peer, options);
      await client.hold(count);
      const drop = async (): Promise<Figures> => {
        await new Promise((resolve) => setTimeout(resolve, 50)); // what was sent before is through
        const before = await server.usage();
        const live = client.live();
        const cutAtMs = await server.drop(changed);
        const liveAtMs = await live;
        const after = await server.usage();
        return {
          "ms from the cut": liveAtMs - cutAtMs,
          "ms from the new connection": liveAtMs - (await server.back()),
          "server µs each": (after.cpuUs - before.cpuUs) / count,
          "bytes up each": (after.bytesIn - before.bytesIn) / count,
          "bytes down each": (after.bytesOut - before.bytesOut) / count,
        };
      };
      return {
        async warmUp() {
          const endMs = performance.now() + options.warmUpSeconds * 1_000;
          do await drop();
          while (performance.now() < endMs);
        },
        round: () => medianOf(drop, dropsPerRound),
        close: stop,
      };
    },
  };
}

function workload(count: number): Workload {
  return {
    name: `reconnect/${count.toLocaleString("en")} references`,
    about:
      "All connections are cut. holdfast binds its references again, checks what has changed, and sends that; ws and " +
      "tRPC subscribe again, socket.io joins its rooms again or recovers its state.",
    base: "ws, one message for all",
    ratioOf: "ms from the new connection",
    apart: count > 1_000,
    rows: [
      row("holdfast, none changed", "holdfast, wire", count),
      row("holdfast, all changed", "holdfast, wire", count, true),
      row("holdfast in JSON, none changed", "holdfast, wire in JSON", count),
      row("holdfast in JSON, all changed", "holdfast, wire in JSON", count, true),
      row("ws, one message for all", "ws, batched", count),
      row("ws, a message each", "ws", count),
      row("socket.io, joined again", "socket.io", count),
      row("socket.io, recovered", "socket.io, recovered", count),
      row("tRPC, subscribed again", "tRPC, WebSocket", count),
    ],
  };
}

/** Calls that were made while the connection was down. */
function queued(name: string, peer: string): WorkloadRow {
  const count = 1_000;
  return {
    name,
    foreign: false,
    async open(options) {
      const { server, client, stop } = await startPair(peer, options);
      await client.hold(1);
      const drop = async (): Promise<Figures> => {
        const live = client.live();
        await server.drop(false);
        const { atMs, inOrder } = await client.write(count);
        await live;
        if (!inOrder) throw new Error("the calls did not run in the order in which they were made");
        return { "ms from the new connection": atMs - (await server.back()), "in order": 1 };
      };
      return {
        async warmUp() {
          const endMs = performance.now() + options.warmUpSeconds * 1_000;
          do await drop();
          while (performance.now() < endMs);
        },
        round: () => medianOf(drop, dropsPerRound),
        close: stop,
      };
    },
  };
}

export const workloads: readonly Workload[] = [
  ...[1, 100, 1_000, 10_000].map(workload),
  {
    name: "reconnect/1,000 queued calls",
    about:
      "1,000 commands are made on one reference while its connection is down; the time until the last is answered. " +
      "That they run in the order in which they were made is checked.",
    base: "holdfast, wire in JSON",
    ratioOf: "ms from the new connection",
    rows: [
      queued("holdfast, wire", "holdfast, wire"),
      queued("holdfast, wire in JSON", "holdfast, wire in JSON"),
    ],
  },
];
