/**
 * Packets: lists of link messages, packed by one codec.
 *
 * What one end says in one turn of its event loop goes out as one packet: many small messages then cost one
 * frame and one system call, with no timer and no delay.
 *
 * Source: design "Wires".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { Batch } from "../base/batch.ts";
import { CodecError } from "../codec/codec-error.ts";
import type { Codec, Plain } from "../codec/codec.ts";
import { PackedPlain } from "../codec/packed-plain.ts";
import { fillSlot, openSlot } from "../codec/slot.ts";
import { packetBytesAim, packetMessageCountAim } from "./wire.ts";

/** Some messages as one packet. */
export function writePacket<Desc extends DescMessage>(
  codec: Codec,
  desc: Desc,
  messages: readonly MessageShape<Desc>[],
): Uint8Array {
  return codec.packList(messages.map((message) => codec.shape(desc, message)));
}

/**
 * The messages of a packet. The payloads of calls, results and items may view its bytes: see {@link ownPayload}.
 *
 * @throws CodecError for bytes that are not one.
 */
export function readPacket<Desc extends DescMessage>(
  codec: Codec,
  desc: Desc,
  packet: Uint8Array,
): MessageShape<Desc>[] {
  if (codec.unshapeList !== undefined) return codec.unshapeList(desc, packet);
  return codec.unpackList(packet).map((plain) => codec.unshape(desc, plain));
}

/** The same payload in memory of its own, for who keeps it beyond the turn of its packet. */
export function ownPayload(codec: Codec, payload: Payload): Payload {
  return fillSlot(PayloadSchema, codec.unpack(codec.pack(openSlot(PayloadSchema, payload))));
}

/** A user's message, to be put inside a link message that the same codec will write. */
export function payloadOf<Desc extends DescMessage>(
  codec: Codec,
  desc: Desc,
  message: MessageShape<Desc>,
): Payload {
  return fillSlot(PayloadSchema, codec.shape(desc, message));
}

/** The same of a message that is shaped already: one encoding for many receivers. */
export function payloadOfPlain(plain: Plain): Payload {
  return fillSlot(PayloadSchema, plain);
}

/**
 * The user's message that a link message carries.
 *
 * @throws CodecError when it is not there, or is not of this type.
 */
export function messageIn<Desc extends DescMessage>(
  codec: Codec,
  desc: Desc,
  payload: Payload | undefined,
): MessageShape<Desc> {
  if (payload === undefined) throw new CodecError(`a ${desc.typeName} is missing`);
  return codec.unshape(desc, openSlot(PayloadSchema, payload));
}

/** Bytes of the user's message that a link message carries. */
export function payloadBytes(payload: Payload): number {
  const plain: unknown = openSlot(PayloadSchema, payload);
  return plain instanceof PackedPlain ? plain.end - plain.start : 0;
}

/** Gathers what one end says in a turn, and sends it as packets when the turn is over. */
export class PacketQueue<Desc extends DescMessage> {
  readonly #codec: Codec;
  readonly #desc: Desc;
  readonly #send: (packet: Uint8Array) => void;
  #waiting: Plain[] = [];
  /** The last message, as long as its sender may change it. */
  #open: MessageShape<Desc> | undefined;
  readonly #batch = new Batch(() => this.flush());

  constructor(codec: Codec, desc: Desc, send: (packet: Uint8Array) => void) {
    this.#codec = codec;
    this.#desc = desc;
    this.#send = send;
  }

  /**
   * Adds a message, as it is now.
   *
   * @throws CodecError for one that does not fit its types; the others go out all the same.
   */
  add(message: MessageShape<Desc>): void {
    this.addPlain(this.#codec.shape(this.#desc, message));
  }

  /** Adds a message that the codec has shaped. */
  addPlain(plain: Plain): void {
    this.#closeOpen();
    this.#waiting.push(plain);
    // In a turn with much to say the other end begins with its first part while the rest is made.
    if (this.#waiting.length >= packetMessageCountAim) this.flush();
    else this.#batch.mark();
  }

  /** Adds a message that its sender may change until something else is added, or the turn is over. */
  addOpen(message: MessageShape<Desc>): void {
    this.#closeOpen();
    this.#open = message;
    this.#batch.mark();
  }

  isOpen(message: MessageShape<Desc>): boolean {
    return this.#open === message;
  }

  #closeOpen(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#waiting.push(this.#codec.shape(this.#desc, open));
  }

  /** Sends what waits, now: before a close, and for who cannot wait for the turn's end. */
  flush(): void {
    this.#closeOpen();
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#sendAimed(waiting);
  }

  /** Halves a packet that came out too large, down to messages that go alone. */
  #sendAimed(plains: readonly Plain[]): void {
    const packet = this.#codec.packList(plains);
    if (packet.length <= packetBytesAim || plains.length === 1) {
      this.#send(packet);
      return;
    }
    const half = plains.length >> 1;
    this.#sendAimed(plains.slice(0, half));
    this.#sendAimed(plains.slice(half));
  }
}
