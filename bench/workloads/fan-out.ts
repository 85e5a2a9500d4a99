/** One change to many watchers: when the last has it, and what a delivery costs. */
import { isForeign } from "../peers.ts";
import type { WatchKind } from "../sides/client-side.ts";
import { startPair } from "../sides/pair.ts";
import type { Figures, Workload, WorkloadRow } from "../workload.ts";
import { medianOf } from "./median-of.ts";

const text = "x".repeat(180); // with its frame about 200 bytes
const changesPerRound = 20;

interface Watching {
  readonly name: string;
  readonly peer: string;
  readonly kind: WatchKind;
  /** Watchers on one connection. */
  readonly perConnection: number;
}

function row(watching: Watching, count: number): WorkloadRow {
  const { name, peer, kind, perConnection } = watching;
  return {
    name,
    foreign: isForeign(peer),
    async open(options) {
      const { server, client, stop } = await startPair(peer, options);
      await client.watchers(kind, count, perConnection);
      const change = async (number: number): Promise<Figures> => {
        const before = await server.usage();
        const heard = client.heard(count);
        const fromMs =
          kind === "follow" ? await server.publish(1, 1, text) : await server.rewrite(`${text}${number}`);
        const { firstAtMs, lastAtMs, cpuUs } = await heard;
        const after = await server.usage();
        return {
          "last ms": lastAtMs - fromMs,
          "first ms": firstAtMs - fromMs,
          "server µs": (after.cpuUs - before.cpuUs) / count,
          "client µs": cpuUs / count,
          "bytes each": (after.bytesOut - before.bytesOut) / count,
        };
      };
      let number = 0;
      const round = (): Promise<Figures> => medianOf(() => change((number += 1)), changesPerRound);
      return {
        async warmUp() {
          const endMs = performance.now() + options.warmUpSeconds * 1_000;
          do await round();
          while (performance.now() < endMs);
        },
        round,
        close: stop,
      };
    },
  };
}

const one = (name: string, peer: string, kind: WatchKind, perConnection: number): Watching => ({
  name,
  peer,
  kind,
  perConnection,
});

function topic(count: number): Workload {
  return {
    name: `fan-out/a topic to ${count.toLocaleString("en")}`,
    about:
      `One item of 200 bytes is published to ${count.toLocaleString("en")} followers in one process; ` +
      "the time until the last of them has it, and CPU time a delivery.",
    base: "ws, a socket each",
    ratioOf: "last ms",
    apart: count > 1_000,
    rows: [
      one("holdfast, a stream each", "holdfast, HTTP/2", "follow", 1),
      one("holdfast, a WebSocket each", "holdfast, shared wire", "follow", 1),
      one("holdfast, all on one WebSocket", "holdfast, shared wire", "follow", count),
      one("Connect, all on one connection", "Connect, HTTP/2", "follow", count),
      one("gRPC, all on one connection", "gRPC", "follow", count),
      one("tRPC, all on one WebSocket", "tRPC, WebSocket", "follow", count),
      one("capnweb, a WebSocket each", "capnweb", "follow", 1),
      one("socket.io, a socket each", "socket.io", "follow", 1),
      one("ws, a socket each", "ws", "follow", 1),
    ].map((watching) => row(watching, count)),
  };
}

function state(count: number): Workload {
  return {
    name: `fan-out/a state to ${count.toLocaleString("en")}`,
    about:
      `A text of 180 characters changes on a page of 100 lines that ${count.toLocaleString("en")} watch. ` +
      "holdfast sends what has changed; the others send the page.",
    base: "ws, a socket each",
    ratioOf: "last ms",
    apart: count > 1_000,
    rows: [
      one("holdfast, a wire each", "holdfast, wire", "watch", 1),
      one("holdfast, a wire in JSON each", "holdfast, wire in JSON", "watch", 1),
      one("Connect, all on one connection", "Connect, HTTP/2", "watch", count),
      one("socket.io, a socket each", "socket.io", "watch", 1),
      one("ws, a socket each", "ws", "watch", 1),
    ].map((watching) => row(watching, count)),
  };
}

export const workloads: readonly Workload[] = [topic(1_000), topic(10_000), state(1_000), state(10_000)];
