/** All systems under test, by the names that they have in the tables. */
import type { Peer } from "./peer.ts";

/** Which file knows which systems, so that a process loads nothing that it does not measure. */
const files: Readonly<Record<string, readonly string[]>> = {
  "holdfast/calls.ts": [
    "holdfast, HTTP/2",
    "holdfast, HTTP/1.1",
    "holdfast, wire",
    "holdfast, wire in JSON",
    "holdfast, reference",
  ],
  "holdfast/shared-wire.ts": ["holdfast, shared wire"],
  "peers/connect.ts": ["Connect, HTTP/2", "Connect, HTTP/1.1", "Connect, duplex"],
  "peers/grpc.ts": ["gRPC", "gRPC, duplex"],
  "peers/trpc.ts": ["tRPC, WebSocket", "tRPC, HTTP", "tRPC, HTTP in batches"],
  "peers/capnweb.ts": ["capnweb"],
  "peers/socket-io.ts": ["socket.io", "socket.io, recovered"],
  "peers/ws.ts": ["ws", "ws, batched"],
  "peers/net.ts": ["net, batched"],
  "peers/http2.ts": ["node:http2"],
};

export async function peerNamed(name: string): Promise<Peer> {
  const file = Object.keys(files).find((path) => files[path]?.includes(name));
  if (file === undefined) throw new RangeError(`no peer is named "${name}"`);
  // By a computed path: the compiler does not follow, since packages of peers may not be installed.
  const { peers } = (await import(new URL(file, import.meta.url).href)) as { peers: readonly Peer[] };
  const peer = peers.find((one) => one.name === name);
  if (peer === undefined) throw new RangeError(`bench/${file} has no peer named "${name}"`);
  return peer;
}

/** Whether a system needs packages that the project itself does not have. */
export function isForeign(name: string): boolean {
  return ["tRPC", "capnweb", "socket.io"].some((foreign) => name.startsWith(foreign));
}
