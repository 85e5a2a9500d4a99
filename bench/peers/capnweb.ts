/** capnweb over a WebSocket, its server on ws. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { newWebSocketRpcSession, RpcTarget, type RpcStub } from "capnweb";
import { WebSocket, WebSocketServer } from "ws";
import type { Connected, Note, Peer, Served } from "../peer.ts";

// Node 20 has no WebSocket of its own, and capnweb looks for its constants.
Object.assign(globalThis, { WebSocket });

type Hear = (note: Note) => void;

class Work extends RpcTarget {
  readonly #followers: Set<RpcStub<Hear>>;

  constructor(followers: Set<RpcStub<Hear>>) {
    super();
    this.#followers = followers;
  }

  ask({ text, n }: Note): Note {
    return { text, n: n + 1 };
  }

  follow(hear: RpcStub<Hear>): void {
    this.#followers.add(hear.dup());
  }
}

async function serve(): Promise<Served> {
  const followers = new Set<RpcStub<Hear>>();
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  await once(server, "listening");
  server.on("connection", (socket) => {
    newWebSocketRpcSession(socket as unknown as globalThis.WebSocket, new Work(followers));
  });
  return {
    port: (server.address() as AddressInfo).port,
    publish(note) {
      for (const hear of followers) void hear(note);
    },
  };
}

async function connect(port: number): Promise<Connected> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  await once(socket, "open");
  const work = newWebSocketRpcSession<Work>(socket as unknown as globalThis.WebSocket);
  return {
    ask: async (note) => await work.ask(note),
    follow: async (heard) => {
      await work.follow(() => {
        heard(1);
      });
    },
  };
}

export const peers: readonly Peer[] = [{ name: "capnweb", serve, connect }];
