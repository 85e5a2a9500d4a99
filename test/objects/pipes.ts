/** Kinds of wires between two hosts of one test: how each is opened, and when nothing is under way on it. */
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter, createConnectTransport } from "@connectrpc/connect-node";
import { WebSocket, WebSocketServer } from "ws";
import { LinkService } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import { connectDuplexWire, DuplexWire } from "../../runtime/wire/connect-duplex.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import { messagePortWire } from "../../runtime/wire/message-port.ts";
import { opened, webSocketWire } from "../../runtime/wire/websocket.ts";
import type { Wire } from "../../runtime/wire/wire.ts";

/** Where wires are opened to. */
export interface PipeEnd {
  open(): Promise<Wire>;
  close(): Promise<void>;
}

/** A kind of wire. `accept` gets the other end of each one that is opened. */
export interface Pipe {
  readonly name: string;
  listen(accept: (wire: Wire) => void, clock: Clock): Promise<PipeEnd>;
}

export const memoryPipe: Pipe = {
  name: "memory",
  listen: (accept) =>
    Promise.resolve({
      open: () => {
        const [mine, theirs] = memoryPair();
        accept(theirs);
        return Promise.resolve(mine);
      },
      close: () => Promise.resolve(),
    }),
};

/** To a thread of Node, a worker or an iframe: both ends of a channel are in this one. */
export const messagePortPipe: Pipe = {
  name: "MessagePort",
  listen: (accept) =>
    Promise.resolve({
      open: () => {
        const { port1, port2 } = new MessageChannel();
        accept(messagePortWire(port2));
        return Promise.resolve(messagePortWire(port1));
      },
      close: () => Promise.resolve(),
    }),
};

export const webSocketPipe: Pipe = {
  name: "WebSocket",
  async listen(accept, clock) {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
    server.on("connection", (socket) => {
      socket.binaryType = "nodebuffer";
      accept(webSocketWire(socket, clock));
    });
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      async open() {
        const socket = new WebSocket(`ws://127.0.0.1:${port}`, ["test"], { perMessageDeflate: false });
        socket.binaryType = "nodebuffer";
        await opened(socket, "test", new AbortController().signal);
        return webSocketWire(socket, clock);
      },
      close: () => new Promise((resolve) => server.close(() => resolve())),
    };
  },
};

export const connectPipe: Pipe = {
  name: "Connect duplex",
  async listen(accept) {
    const handler = connectNodeAdapter({
      routes: (router) =>
        router.service(LinkService, {
          open: (packets) => {
            const wire = new DuplexWire(() => undefined);
            accept(wire);
            void wire.read(packets);
            return wire.outbound;
          },
        }),
    });
    const sessions = new Set<http2.ServerHttp2Session>();
    const server = http2.createServer(handler).listen(0, "127.0.0.1");
    server.on("session", (session) => sessions.add(session));
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      open: () => {
        const transport = createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "2" });
        return Promise.resolve(connectDuplexWire(transport, new Headers()));
      },
      close: () => {
        for (const session of sessions) session.destroy();
        return new Promise((resolve) => server.close(() => resolve()));
      },
    };
  },
};

/** All kinds. */
export const pipes: readonly Pipe[] = [memoryPipe, messagePortPipe, webSocketPipe, connectPipe];

/** What is under way between the two ends of one pipe, and how much went over it. */
export class Traffic {
  sentBytes = 0;
  receivedBytes = 0;
  /** Moves with every packet and close. */
  events = 0;
  readonly #open = new Set<TracedWire>();

  /** Packets that have been sent, and have not come. */
  get underWay(): number {
    let count = 0;
    for (const { sent, other } of this.#open) if (other !== undefined) count += sent - other.received;
    return count;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** A wire whose packets are counted; `own`: of the holder. */
  trace(wire: Wire, own: boolean): TracedWire {
    const traced = new TracedWire(wire, (bytes, way) => {
      this.events += 1;
      if (way === "closed") this.#open.delete(traced);
      else if (own && way === "sent") this.sentBytes += bytes;
      else if (own) this.receivedBytes += bytes;
    });
    this.#open.add(traced);
    return traced;
  }
}

export class TracedWire implements Wire {
  readonly name: string;
  sent = 0;
  received = 0;
  other: TracedWire | undefined;
  /** Added to what is really unsent: a test makes a wire slow so. */
  heldBytes = 0;
  readonly #wire: Wire;
  readonly #note: (bytes: number, way: "sent" | "received" | "closed") => void;

  constructor(wire: Wire, note: (bytes: number, way: "sent" | "received" | "closed") => void) {
    this.name = wire.name;
    this.#wire = wire;
    this.#note = note;
  }

  get bufferedAmount(): number {
    return this.#wire.bufferedAmount + this.heldBytes;
  }

  send(packet: Uint8Array): void {
    this.sent += 1;
    this.#note(packet.length, "sent");
    this.#wire.send(packet);
  }

  onPacket(fn: (packet: Uint8Array) => void): void {
    this.#wire.onPacket((packet) => {
      this.received += 1;
      this.#note(packet.length, "received");
      fn(packet);
    });
  }

  onClose(fn: (cause: Error | undefined) => void): void {
    this.#wire.onClose((cause) => {
      this.#note(0, "closed");
      fn(cause);
    });
  }

  close(): void {
    this.#wire.close();
  }

  cut(cause: Error): void {
    this.#wire.cut(cause);
  }
}
