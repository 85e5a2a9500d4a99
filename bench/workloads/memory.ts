/** What is kept for who is idle: memory of the server, and of the client, after a thousand more. */
import { isForeign } from "../peers.ts";
import { type Pair, startPair } from "../sides/pair.ts";
import type { Workload, WorkloadRow } from "../workload.ts";

const count = 1_000;
const fewCount = 50;

type Open = (client: Pair["client"], count: number) => Promise<void>;

const links: Open = (client, more) => client.links(more);
const followers =
  (perConnection: number): Open =>
  (client, more) =>
    client.watchers("follow", more, perConnection);
const references: Open = (client, more) => client.hold(more);
/** The few that are there already are held anew with them. */
const moreReferences: Open = (client, more) => client.hold(fewCount + more);
/** Connections that hold the same objects: an object and its connection count for next to nothing then. */
const holderCount = 10;
const holders: Open = (client, more) => client.holdAgain(more, holderCount);

interface RowOptions {
  /** What is there already before it is counted. Default: a few of the same. */
  readonly first?: readonly [Open, number];
  /** How many of what is counted one of `count` has. */
  readonly each?: number;
}

/** Each round in new processes: memory that was once taken is not given back. */
function row(
  name: string,
  peer: string,
  open: Open,
  { first = [open, fewCount], each = 1 }: RowOptions = {},
): WorkloadRow {
  return {
    name,
    foreign: isForeign(peer),
    open: async (options) => ({
      async round() {
        const { server, client, stop } = await startPair(peer, options);
        try {
          await first[0](client, first[1]);
          const [serverBefore, clientBefore] = [await server.memory(), await client.memory()];
          await open(client, count);
          const [serverAfter, clientAfter] = [await server.memory(), await client.memory()];
          const kib = (before: number, after: number): number => (after - before) / (count * each) / 1_024;
          return {
            "server RSS KiB": kib(serverBefore.rssBytes, serverAfter.rssBytes),
            "server heap KiB": kib(serverBefore.heapBytes, serverAfter.heapBytes),
            "client RSS KiB": kib(clientBefore.rssBytes, clientAfter.rssBytes),
            "client heap KiB": kib(clientBefore.heapBytes, clientAfter.heapBytes),
          };
        } finally {
          await stop();
        }
      },
      close: () => Promise.resolve(),
    }),
  };
}

const few: RowOptions = { first: [references, fewCount] };
const alone: RowOptions = { first: [references, count], each: holderCount };

export const workloads: readonly Workload[] = [
  {
    name: "memory/an idle link",
    about: `Memory after collecting garbage, for each of ${count.toLocaleString("en")} more connections that do nothing.`,
    base: "ws",
    ratioOf: "server RSS KiB",
    rows: [
      row("holdfast, wire", "holdfast, wire", links),
      row("holdfast, HTTP/2", "holdfast, HTTP/2", links),
      row("Connect, HTTP/2", "Connect, HTTP/2", links),
      row("gRPC", "gRPC", links),
      row("tRPC, WebSocket", "tRPC, WebSocket", links),
      row("capnweb", "capnweb", links),
      row("socket.io", "socket.io", links),
      row("ws", "ws", links),
    ],
  },
  {
    name: "memory/a follower",
    about: `The same for each of ${count.toLocaleString("en")} more followers of one topic.`,
    base: "ws, a socket each",
    ratioOf: "server RSS KiB",
    rows: [
      row("holdfast, a stream each", "holdfast, HTTP/2", followers(1)),
      row("holdfast, a WebSocket each", "holdfast, shared wire", followers(1)),
      row("holdfast, all on one WebSocket", "holdfast, shared wire", followers(count)),
      row("Connect, all on one connection", "Connect, HTTP/2", followers(count)),
      row("gRPC, all on one connection", "gRPC", followers(count)),
      row("tRPC, all on one WebSocket", "tRPC, WebSocket", followers(count)),
      row("socket.io, a socket each", "socket.io", followers(1)),
      row("ws, a socket each", "ws", followers(1)),
    ],
  },
  {
    name: "memory/a reference",
    about:
      `The same for each of ${count.toLocaleString("en")} references of one connection, to as many objects with a ` +
      `state of about 110 bytes; socket.io has rooms in their place. "The reference alone": ${holderCount} more ` +
      "connections hold the same objects.",
    base: "holdfast, with its object",
    ratioOf: "server RSS KiB",
    rows: [
      row("holdfast, with its object", "holdfast, wire", moreReferences, few),
      row("holdfast in JSON, with its object", "holdfast, wire in JSON", moreReferences, few),
      row("holdfast, the reference alone", "holdfast, wire", holders, alone),
      row("holdfast in JSON, the reference alone", "holdfast, wire in JSON", holders, alone),
      row("socket.io", "socket.io", moreReferences, few),
    ],
  },
];
