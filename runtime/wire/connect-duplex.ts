/**
 * A wire over LinkService.Open: a duplex stream of Connect. It needs HTTP/2 from end to end, which Node has and
 * browsers do not; it passes proxies that know no WebSocket.
 *
 * Source: design "Wires".
 */
import { create } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { nextTurn } from "../base/turn.ts";
import { LinkService, type Packet, PacketSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Wire } from "./wire.ts";

/** Packets on their way out, as the iterable that Connect reads. */
class Outbound implements AsyncIterable<Packet> {
  #waiting: Uint8Array[] = [];
  bytes = 0;
  #wake: (() => void) | undefined;
  #ended = false;

  push(packet: Uint8Array): void {
    if (this.#ended) return;
    this.#waiting.push(packet);
    this.bytes += packet.length;
    this.#wake?.();
  }

  end(now: boolean): void {
    this.#ended = true;
    if (now) this.#waiting = [];
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Packet, void> {
    for (;;) {
      const data = this.#waiting.shift();
      if (data !== undefined) {
        yield create(PacketSchema, { data: data });
        // It is asked for the next one when this one has left.
        this.bytes -= data.length;
      } else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

/** One end of a duplex stream; `read` begins when the packets that come are known. */
export class DuplexWire implements Wire {
  readonly name = "Connect";
  readonly #out = new Outbound();
  readonly #abort: (reason: Error) => void;
  #onPacket: (packet: Uint8Array) => void = () => undefined;
  #onClose: (cause: Error | undefined) => void = () => undefined;
  #state: "open" | "closing" | "closed" = "open";

  /** @param abort - ends the stream at once. */
  constructor(abort: (reason: Error) => void) {
    this.#abort = abort;
  }

  /** What this end says, for Connect to send. */
  get outbound(): AsyncIterable<Packet> {
    return this.#out;
  }

  get bufferedAmount(): number {
    return this.#out.bytes;
  }

  send(packet: Uint8Array): void {
    if (this.#state === "open") this.#out.push(packet);
  }

  onPacket(fn: (packet: Uint8Array) => void): void {
    this.#onPacket = fn;
  }

  onClose(fn: (cause: Error | undefined) => void): void {
    this.#onClose = fn;
  }

  close(): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#out.end(false);
  }

  cut(cause: Error): void {
    if (this.#state === "closed") return;
    this.#out.end(true);
    this.#abort(cause);
    nextTurn(() => this.#closed(cause));
  }

  /** Reads what the other end says, until its end. Never rejects. */
  async read(packets: AsyncIterable<Packet>): Promise<void> {
    try {
      for await (const { data } of packets) if (this.#state === "open") this.#onPacket(data);
      this.#out.end(false);
      this.#closed(undefined);
    } catch (error) {
      this.#out.end(true);
      this.#closed(this.#state === "closing" || !(error instanceof Error) ? undefined : error);
    }
  }

  #closed(cause: Error | undefined): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#onClose(cause);
  }
}

/** Opens a wire over a transport of Connect. It fails by its close, since the server says nothing before hello. */
export function connectDuplexWire(transport: Transport, headers: Headers): Wire {
  const cut = new AbortController();
  const wire = new DuplexWire((reason) => cut.abort(reason));
  const packets = async function* (): AsyncIterable<Packet> {
    const response = await transport.stream(
      LinkService.method.open,
      cut.signal,
      undefined,
      headers,
      wire.outbound,
    );
    yield* response.message;
  };
  void wire.read(packets());
  return wire;
}
