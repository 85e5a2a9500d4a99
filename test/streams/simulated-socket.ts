/** WebSockets of a simulated network: a wire in memory to the real server, late, cut and swallowed as the network is. */
import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import type { WebSocketLike, WebSocketMaker } from "../../runtime/wire/websocket.ts";
import type { Wire } from "../../runtime/wire/wire.ts";
import type { Server } from "../../server/index.ts";

/** What a socket asks of its network. */
export interface SocketNet {
  readonly clock: VirtualClock;
  readonly lateMs: () => number;
  /** The server, when the way there is over; rejects when nobody listens. */
  way(signal: AbortSignal): Promise<Server>;
  readonly onOpened: (socket: SimulatedSocket) => void;
  readonly onOver: (socket: SimulatedSocket) => void;
}

type Listener = (event: never) => void;

export class SimulatedSocket implements WebSocketLike {
  binaryType = "arraybuffer";
  readyState = 0;
  readonly protocol: string;
  /** Nothing gets through any more, and nobody is told. */
  dead = false;
  readonly #net: SocketNet;
  readonly #listeners = new Map<string, Listener[]>();
  readonly #life = new AbortController();
  #wire: Wire | undefined;
  /** Packets arrive in their order, however late the network was at each. */
  #arrivesAt = 0;

  constructor(net: SocketNet, [protocol = ""]: readonly string[]) {
    this.#net = net;
    this.protocol = protocol;
    net.way(this.#life.signal).then(
      (server) => this.#opened(server),
      () => this.#over(1006),
    );
  }

  get bufferedAmount(): number {
    return this.#wire?.bufferedAmount ?? 0;
  }

  addEventListener(type: string, fn: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), fn]);
  }

  send(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : Uint8Array.from(data);
    this.#later(() => this.#wire?.send(bytes));
  }

  close(): void {
    this.#life.abort();
    if (this.dead) this.#over(1006);
    else this.#wire?.close();
  }

  /** The network breaks it, both ends hear of it. */
  cut(): void {
    this.#wire?.cut(new Error("simulated: cut"));
    this.#over(1006);
  }

  #opened(server: Server): void {
    if (this.readyState !== 0) return;
    const [mine, theirs] = memoryPair();
    this.#wire = mine;
    this.readyState = 1;
    mine.onPacket((packet) => {
      const data = Uint8Array.from(packet);
      this.#later(() => this.#emit("message", { data }));
    });
    mine.onClose((cause) => this.#later(() => this.#over(cause === undefined ? 1000 : 1006)));
    server.accept(theirs);
    this.#net.onOpened(this);
    this.#emit("open", {});
  }

  #later(fn: () => void): void {
    const { clock, lateMs } = this.#net;
    const passes = (): void => {
      if (!this.dead && this.readyState === 1) fn();
    };
    const at = Math.max(this.#arrivesAt, clock.monotonic() + lateMs());
    this.#arrivesAt = at;
    if (at <= clock.monotonic()) passes();
    else clock.timer(at - clock.monotonic(), passes);
  }

  #over(code: number): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#net.onOver(this);
    this.#emit("close", { code, reason: "" });
  }

  #emit(type: string, event: object): void {
    for (const fn of this.#listeners.get(type) ?? []) fn(event as never);
  }
}

/** The class of a network's sockets, as a platform has it. */
export function socketsOf(net: SocketNet): WebSocketMaker {
  return class extends SimulatedSocket {
    constructor(_url: string, protocols: readonly string[]) {
      super(net, protocols);
    }
  };
}
