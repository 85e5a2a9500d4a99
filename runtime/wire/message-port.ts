/**
 * A wire over a MessagePort: to a worker, to an iframe by a port that was handed to it, to a thread of Node.
 *
 * A port tells nobody reliably that its other end has closed, so this one says so itself.
 *
 * Source: design "Wires".
 */
import { nextTurn } from "../base/turn.ts";
import type { Wire } from "./wire.ts";

/** What a wire needs of a port: a MessagePort, a dedicated worker's scope, or the Worker that it runs in. */
export interface PortLike {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(type: "message", fn: (event: { readonly data: unknown }) => void): void;
  /** A port holds messages back until this; a Worker has none. */
  start?(): void;
  close?(): void;
}

/** Said in place of a packet when an end closes. */
const goodbye = "holdfast: closed";

class PortWire implements Wire {
  readonly name = "MessagePort";
  /** A port does not tell what its other end has not read. */
  readonly bufferedAmount = 0;
  readonly #port: PortLike;
  #onPacket: (packet: Uint8Array) => void = () => undefined;
  #onClose: (cause: Error | undefined) => void = () => undefined;
  #open = true;

  constructor(port: PortLike) {
    this.#port = port;
    port.addEventListener("message", ({ data }) => {
      if (!this.#open) return;
      if (data instanceof Uint8Array) this.#onPacket(data);
      else if (data === goodbye) this.#end(undefined);
    });
    port.start?.();
  }

  send(packet: Uint8Array): void {
    if (!this.#open) return;
    const { buffer } = packet;
    const whole = packet.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer;
    // Handed over without a copy, where nothing else lies in the same memory.
    this.#port.postMessage(packet, whole ? [buffer] : []);
  }

  onPacket(fn: (packet: Uint8Array) => void): void {
    this.#onPacket = fn;
  }

  onClose(fn: (cause: Error | undefined) => void): void {
    this.#onClose = fn;
  }

  close(): void {
    this.#leave(undefined);
  }

  cut(cause: Error): void {
    this.#leave(cause);
  }

  #leave(cause: Error | undefined): void {
    if (!this.#open) return;
    this.#port.postMessage(goodbye, []);
    this.#end(cause);
  }

  #end(cause: Error | undefined): void {
    this.#open = false;
    nextTurn(() => {
      this.#port.close?.();
      this.#onClose(cause);
    });
  }
}

/** A wire over a port that nobody else uses. */
export function messagePortWire(port: PortLike): Wire {
  return new PortWire(port);
}
