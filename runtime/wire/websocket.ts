/**
 * A wire over any WebSocket: a browser's, that of `ws`, undici's. One packet is one frame: text for a packet that is
 * JSON, so that a browser's tools show it, and binary for the rest.
 *
 * Source: design "Wires".
 */
import type { Clock, Timer } from "../base/clock.ts";
import type { CodecName } from "./handshake.ts";
import type { Wire } from "./wire.ts";

/** What a wire needs of a WebSocket. */
export interface WebSocketLike {
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  /** The subprotocol that both ends agreed on. */
  readonly protocol: string;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "message", fn: (event: { readonly data: unknown }) => void): void;
  addEventListener(
    type: "close",
    fn: (event: { readonly code: number; readonly reason: string }) => void,
  ): void;
  addEventListener(type: "open" | "error", fn: (event: { readonly message?: string }) => void): void;
  /** Ends it at once; a browser's WebSocket lacks it. */
  terminate?(): void;
}

/** A class of WebSockets, such as a browser's own. */
export type WebSocketMaker = new (url: string, protocols: string[]) => WebSocketLike;

/** The subprotocol of a codec: it tells a server of holdfast from any other, and a version from the next. */
export function subprotocolOf(codec: string): string {
  return `holdfast.v1.${codec}`;
}

/** The codec of a subprotocol; undefined for one that is not ours. */
export function codecOfSubprotocol(protocol: string): CodecName | undefined {
  if (protocol === subprotocolOf("json")) return "json";
  return protocol === subprotocolOf("msgpack") ? "msgpack" : undefined;
}

/** The path at which a server takes WebSockets: that of the rpc whose packets they carry. */
export const wirePath = "holdfast.link.v1.LinkService/Open";

/** `[`: a packet of JSON begins with it, and no other does. */
const bracket = 0x5b;
const openState = 1;
/** "Normal closure", as RFC 6455 numbers it, and what a browser tells where no number came. */
const normalCode = 1000;
const noCode = 1005;
/** A peer that does not answer a close gets this long. */
const closeWaitMs = 2_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

class WebSocketWire implements Wire {
  readonly name = "WebSocket";
  readonly sharesPackets = true;
  readonly #sendText: (packet: Uint8Array) => void;
  readonly #socket: WebSocketLike;
  readonly #clock: Clock;
  #onPacket: (packet: Uint8Array) => void = () => undefined;
  #onClose: (cause: Error | undefined) => void = () => undefined;
  #state: "open" | "closing" | "closed" = "open";
  #cause: Error | undefined;
  #problem: string | undefined;
  #timer: Timer | undefined;

  constructor(socket: WebSocketLike, clock: Clock, sendText: ((packet: Uint8Array) => void) | undefined) {
    this.#sendText = sendText ?? ((packet) => socket.send(decoder.decode(packet)));
    this.#socket = socket;
    this.#clock = clock;
    // Packets are used in their own turn; a Blob would have to be waited for.
    if (socket.binaryType === "blob") socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => {
      if (this.#state === "open") this.#receive(data);
    });
    socket.addEventListener("error", ({ message }) => {
      this.#problem = message;
    });
    socket.addEventListener("close", ({ code, reason }) => this.#closed(code, reason));
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  send(packet: Uint8Array): void {
    if (this.#state !== "open" || this.#socket.readyState !== openState) return;
    if (packet[0] === bracket) this.#sendText(packet);
    else this.#socket.send(packet as Uint8Array<ArrayBuffer>);
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
    this.#socket.close(normalCode);
    this.#endAfter(closeWaitMs);
  }

  cut(cause: Error): void {
    if (this.#state === "closed") return;
    this.#cause ??= cause;
    const wasOpen = this.#state === "open";
    this.#state = "closing";
    if (this.#socket.terminate !== undefined) this.#socket.terminate();
    else if (wasOpen) this.#socket.close(normalCode);
    // A browser's own close waits for its peer, which is not there.
    this.#endAfter(0);
  }

  #receive(data: unknown): void {
    if (data instanceof Uint8Array) this.#onPacket(data);
    else if (data instanceof ArrayBuffer) this.#onPacket(new Uint8Array(data));
    else if (typeof data === "string") this.#onPacket(encoder.encode(data));
  }

  #endAfter(waitMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(
      waitMs,
      () => {
        this.#socket.terminate?.();
        this.#closed(noCode, "");
      },
      { background: true },
    );
  }

  #closed(code: number, reason: string): void {
    if (this.#state === "closed") return;
    const asked = this.#state === "closing" || code === normalCode || code === noCode;
    this.#state = "closed";
    this.#timer?.cancel();
    this.#onClose(this.#cause ?? (asked ? undefined : this.#error(code, reason)));
  }

  #error(code: number, reason: string): Error {
    const why = [this.#problem, reason].filter((text) => text !== undefined && text !== "").join(", ");
    return new Error(`the WebSocket closed with ${code}${why === "" ? "" : `: ${why}`}`);
  }
}

/**
 * A wire over a WebSocket that is open.
 *
 * @param sendText - sends the bytes of a text frame, where the socket takes them as they are. Default: as a string.
 */
export function webSocketWire(
  socket: WebSocketLike,
  clock: Clock,
  sendText?: (packet: Uint8Array) => void,
): Wire {
  return new WebSocketWire(socket, clock, sendText);
}

/**
 * Waits until a WebSocket stands.
 *
 * @throws Error with what its platform says, when it does not come to stand or agrees on another subprotocol; the
 * signal's reason once that has aborted. It is closed then.
 */
export function opened(socket: WebSocketLike, protocol: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let problem: string | undefined;
    const fail = (reason: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      if (socket.terminate === undefined) socket.close();
      else socket.terminate();
      reject(reason);
    };
    const onAbort = (): void => fail(signal.reason);
    socket.addEventListener("error", ({ message }) => {
      problem = message;
    });
    socket.addEventListener("close", ({ code }) => {
      signal.removeEventListener("abort", onAbort);
      reject(new Error(problem ?? `the WebSocket closed with ${code} before it was open`));
    });
    socket.addEventListener("open", () => {
      if (socket.protocol === protocol) {
        signal.removeEventListener("abort", onAbort);
        resolve();
      } else fail(new Error(`the server took the WebSocket without the subprotocol ${protocol}`));
    });
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
}
