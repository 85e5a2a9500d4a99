/**
 * WebSockets of a simulated network. Both ends are as `ws` and browsers have them, so that the very wires of programs
 * run over them; between them a packet takes its time, is cut in its middle, or vanishes with all that follow.
 */
import { ConnectionFault } from "../base/connection-fault.ts";
import type { OpenWireOptions } from "../link/wire-support.ts";
import {
  opened,
  subprotocolOf,
  type WebSocketLike,
  type WebSocketMaker,
  webSocketWire,
  wirePath,
} from "../wire/websocket.ts";
import type { Wire } from "../wire/wire.ts";
import type { ClientNetwork, Connected } from "./simulated-client.ts";
import { type Block, Connection } from "./simulated-connection.ts";
import type { Fate, NetworkEvent, SimulatedRequest } from "./simulated-fate.ts";
import type { Host } from "./simulated-host.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

/** What a WebSocket needs of its network. */
export interface SocketNetwork extends ClientNetwork {
  join(client: Connected): void;
}

type Data = string | Uint8Array<ArrayBuffer>;
type Event = {
  readonly data: unknown;
  readonly code: number;
  readonly reason: string;
  readonly message?: string;
};
type EventName = "message" | "close" | "open" | "error";

const connecting = 0;
const open = 1;
const closing = 2;
const closed = 3;
/** "The connection ended without a word", as RFC 6455 numbers it. */
const abnormalCode = 1006;
const latencyMsDefault = 1;
/** What a full buffer holds: more than what makes an end slow, and less than what cuts its wire. */
const fullBytes = 5 * 1_048_576;

/** What carries between the two ends. */
interface Line {
  /** More bytes than these fill a buffer. */
  readonly roomBytes: number;
  carry(from: SocketEnd, arrive: (to: SocketEnd) => void, packet: boolean): void;
  over(end: SocketEnd, why: string | undefined): void;
}

class SocketEnd implements WebSocketLike {
  binaryType = "arraybuffer";
  readyState = connecting;
  protocol = "";
  readonly process: SimulatedProcess;
  readonly #line: Line;
  #unsentBytes = 0;
  readonly #listeners: { readonly type: EventName; readonly fn: (event: Event) => void }[] = [];

  constructor(process: SimulatedProcess, line: Line) {
    this.process = process;
    this.#line = line;
  }

  get bufferedAmount(): number {
    return this.#unsentBytes > this.#line.roomBytes ? fullBytes : this.#unsentBytes;
  }

  send(data: Data): void {
    if (this.readyState !== open) return;
    const bytes = data.length;
    this.#unsentBytes += bytes;
    this.#line.carry(
      this,
      (other) => {
        this.#unsentBytes -= bytes;
        if (other.readyState === open) other.#dispatch("message", { data });
      },
      true,
    );
  }

  close(code = 1000): void {
    if (this.readyState === closed) return;
    if (this.readyState === connecting) {
      this.terminate();
      return;
    }
    this.readyState = closing;
    this.#line.carry(
      this,
      (other) => {
        other.closed(code);
        this.#line.carry(other, (back) => back.closed(code), false);
      },
      false,
    );
  }

  /** Its own end is over at once; the other one hears of it when the network says so. */
  terminate(): void {
    if (this.readyState === closed) return;
    this.#line.carry(this, (other) => other.closed(abnormalCode), false);
    this.process.clock.timer(0, () => this.closed(abnormalCode));
  }

  addEventListener(type: EventName, fn: (event: never) => void): void {
    this.#listeners.push({ type, fn: fn as (event: Event) => void });
  }

  opened(protocol: string): void {
    if (this.readyState !== connecting) return;
    this.protocol = protocol;
    this.readyState = open;
    this.#dispatch("open", {});
  }

  closed(code: number, message?: string): void {
    if (this.readyState === closed) return;
    this.readyState = closed;
    this.#line.over(this, message);
    if (message !== undefined) this.#dispatch("error", { message });
    this.#dispatch("close", { code });
  }

  #dispatch(type: EventName, event: Partial<Event>): void {
    const whole: Event = { data: undefined, code: 0, reason: "", ...event };
    for (const listener of this.#listeners) if (listener.type === type) listener.fn(whole);
  }
}

/** A WebSocket from its request on: the client's end, and the server's once that has taken it. */
class Socket implements Line, Connected {
  readonly process: SimulatedProcess;
  readonly near: SocketEnd;
  readonly #network: SocketNetwork;
  readonly #seen: SimulatedRequest;
  readonly #fate: Fate;
  readonly #connection: Connection;
  #far: SocketEnd | undefined;
  #packetCount = 0;
  #serverPacketCount = 0;

  constructor(network: SocketNetwork, process: SimulatedProcess, url: string, protocols: readonly string[]) {
    this.#network = network;
    this.process = process;
    this.near = new SocketEnd(process, this);
    this.#seen = {
      client: process.name,
      number: network.numberOf(process),
      url: url.replace(/^ws/, "http"),
      header: new Headers({ "sec-websocket-protocol": protocols.join(", ") }),
    };
    this.#fate = network.fate(this.#seen);
    this.#connection = new Connection(network.clock, network.blockOf(process));
    this.#connection.carried.add({ cut: (why) => this.#cut(why) });
    network.join(this);
    process.onDeath(() => this.end("its process died"));
    this.#connect();
  }

  get host(): Host | undefined {
    return this.#connection.host;
  }

  end(why: string): void {
    this.#connection.end(why);
    this.#network.forget(this);
  }

  block(how: Block): void {
    this.#connection.block(how);
  }

  unblock(): void {
    this.#connection.unblock();
  }

  carry(from: SocketEnd, arrive: (to: SocketEnd) => void, packet: boolean): void {
    const to = from === this.near ? this.#far : this.near;
    if (packet && this.#breaks(from)) return;
    this.#connection.carry(this.#latencyMs, () => to?.process.run(() => arrive(to)));
  }

  over(end: SocketEnd, why: string | undefined): void {
    if (end === this.near && this.#far !== undefined) this.#tell("closed", undefined, why);
    if (this.near.readyState !== closed || (this.#far?.readyState ?? closed) !== closed) return;
    this.#connection.end("both ends are closed");
    this.#network.forget(this);
  }

  get roomBytes(): number {
    return this.#fate.roomBytes ?? Infinity;
  }

  get #latencyMs(): number {
    return this.#fate.latencyMs ?? latencyMsDefault;
  }

  #connect(): void {
    const { connect, request, answer } = this.#fate;
    this.#tell("sent");
    if (connect === "hang" || request === "lost") return;
    this.#connection.carry(this.#latencyMs, () => {
      if (this.near.readyState === closed) return;
      const host = connect === "refused" ? undefined : this.#network.serverOf(new URL(this.#seen.url).origin);
      this.#connection.host = host;
      if (host === undefined) this.#refuse("nobody listens");
      else if (request === "cut") this.end("cut before the WebSocket stood");
      else if (request === "refused") this.#refuse("Unexpected server response: 503");
      else if (typeof answer === "object") this.#refuse(`Unexpected server response: ${answer.status}`);
      else this.#take(host);
    });
  }

  #take(host: Host): void {
    const { process } = host;
    if (process === undefined || host.accept === undefined) {
      this.#refuse("Unexpected server response: 404");
      return;
    }
    process.run(() => {
      if (this.#connection.ended) return;
      const far = new SocketEnd(process, this);
      this.#far = far;
      const protocol = (this.#seen.header.get("sec-websocket-protocol") ?? "").split(", ")[0] ?? "";
      far.opened(protocol);
      this.#tell("arrived", process.name);
      host.accept?.(webSocketWire(far, process.clock), {
        header: this.#seen.header,
        address: this.#seen.client,
      });
      const { answer } = this.#fate;
      if (answer === "lost") this.#connection.silence();
      else if (answer === "cut") this.#connection.carry(this.#latencyMs, () => this.end("cut"));
      else {
        this.carry(
          far,
          (near) => {
            this.#tell("opened");
            near.opened(protocol);
          },
          false,
        );
      }
    });
  }

  /** Whether this packet is the one that does not arrive, and no other after it. */
  #breaks(from: SocketEnd): boolean {
    const { cutAfterChunks, silentAfterChunks } = this.#fate;
    if (this.#packetCount === silentAfterChunks) {
      this.#connection.silence();
      this.#tell("silent");
    }
    this.#packetCount += 1;
    if (from === this.near) return false;
    this.#serverPacketCount += 1;
    if (this.#serverPacketCount - 1 !== cutAfterChunks) return false;
    this.#connection.carry(this.#latencyMs, () => this.end("cut in the middle of a packet"));
    return true;
  }

  #refuse(why: string): void {
    const { near } = this;
    this.#tell("failed", undefined, why);
    this.process.run(() => near.closed(abnormalCode, why));
    this.end(why);
  }

  /** Both ends hear of it, unless nothing arrives any more. */
  #cut(why: string): void {
    if (this.#connection.silent) return;
    for (const end of [this.near, this.#far]) end?.process.run(() => end.closed(abnormalCode, why));
  }

  #tell(kind: NetworkEvent["kind"], where = this.#seen.client, text?: string): void {
    this.#network.tell({ kind, where, request: this.#seen, ...(text === undefined ? {} : { text }) });
  }
}

/** The class of the WebSockets of one process. */
export function webSocketsOf(network: SocketNetwork, process: SimulatedProcess): WebSocketMaker {
  // A function that gives an object makes that object, also with `new`.
  return function simulatedWebSocket(url: string, protocols: string[]): WebSocketLike {
    return new Socket(network, process, url, protocols).near;
  } as unknown as WebSocketMaker;
}

/** Opens a wire over one, as a platform does. */
export async function openSimulatedWire(
  WebSocketOf: WebSocketMaker,
  { url, codec, clock, connectWaitMs, signal }: OpenWireOptions,
): Promise<Wire> {
  const protocol = subprotocolOf(codec);
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const late = new ConnectionFault("connect-timeout", "simulated: no WebSocket in time", { sent: false });
  const timer = clock.timer(connectWaitMs, () => stop.abort(late), { background: true });
  try {
    const socket = new WebSocketOf(`${url.replace(/^http/, "ws")}/${wirePath}`, [protocol]);
    await opened(socket, protocol, stop.signal);
    return webSocketWire(socket, clock);
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    const text = `simulated: no WebSocket: ${error instanceof Error ? error.message : String(error)}`;
    const kind = text.includes("nobody listens") ? "connect-refused" : "connect-failed";
    throw new ConnectionFault(kind, text, { sent: false, cause: error });
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}
