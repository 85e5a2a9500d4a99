/**
 * The one seam between the runtime and a connection that stays: a WebSocket, a Connect duplex stream, a
 * MessagePort, a pair in memory.
 *
 * What every wire promises
 * - Packets arrive whole, once, and in the order in which they were sent; anything else is a close.
 * - `send` never throws and never waits: what a wire cannot take any more is lost with it.
 * - `onPacket` and `onClose` are called in turns of their own, never from inside `send` or `close`.
 * - The close is told once, to both ends; after it no packet comes.
 *
 * What is in a packet is not its business, but for one thing: a packet that begins with `[` is text (a packet
 * of msgpack never begins with that byte), which a wire with two kinds of frames sends as text.
 *
 * Source: design "Wires".
 */
export interface Wire {
  /** What it is, for texts that people read: "WebSocket", "Connect", "MessagePort", "memory". */
  readonly name: string;
  /** Sends one packet. The bytes belong to the wire from here on. */
  send(packet: Uint8Array): void;
  /** Whether it only reads them, so that other wires may be given the same bytes. Absent: it may do what it likes. */
  readonly sharesPackets?: boolean;
  /** Who hears the packets; set once, before the first can come. The bytes are good until `fn` returns. */
  onPacket(fn: (packet: Uint8Array) => void): void;
  /**
   * Who hears of the close; set once. `cause` is what went wrong, undefined for a close that one of the ends
   * asked for.
   */
  onClose(fn: (cause: Error | undefined) => void): void;
  /** Ends it: what was sent before goes out first. Twice is once. */
  close(): void;
  /** Ends it at once: what was not sent is lost. `onClose` hears the cause. Twice is once. */
  cut(cause: Error): void;
  /** Bytes that were sent and have not left. */
  readonly bufferedAmount: number;
}

/** The largest packet that is taken, in bytes. Source: design "Security". */
export const packetBytesMost: number = 4 * 1_048_576 + 65_536;
/** A sender begins a new packet at this size; a message that is larger goes alone. */
export const packetBytesAim = 1_048_576;
/** And at this many messages: a turn that says more is sent in parts, so that both ends work at once. */
export const packetMessageCountAim = 128;
