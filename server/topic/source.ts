/**
 * What a stream is served from: a topic, a numbered source of the program's own, or just an iterable. Whoever
 * serves it (Follow over HTTP, a wire with many streams) takes what there is when it can write, and waits when
 * there is nothing: so what nobody takes lies in the topic's ring, once for all, and not in a buffer of each.
 *
 * Source: design "Streams: The server".
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { type Payload, type ServerMessage, ServerMessageSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { payloadBytes, payloadOfPlain, writePacket } from "../../runtime/wire/packet.ts";
import { packetBytesMost } from "../../runtime/wire/wire.ts";
import type { TopicItem } from "./item.ts";

/** A place in a numbering: the items that follow it have greater numbers. */
export interface Place {
  readonly epoch: string;
  readonly seq: number;
}

/** Items that are no longer there: so many, up to this number. */
export interface Gap {
  readonly count: number;
  readonly seq: number;
}

export interface StreamSource {
  /** Where it begins; undefined: its items have no numbers. */
  readonly at: Place | undefined;
  /** The place that was asked for says nothing here: it begins anew. */
  readonly restarted: boolean;
  /** What the client has missed for good, right behind `at`. */
  readonly lost: Gap | undefined;
  /** What there is now. Never called again after `lagged`, `done` and `failed`. */
  take(): Taken;
  /** Calls once, in a later turn, when there may be more. Only after `take` gave nothing. */
  wait(wake: () => void): void;
  /** Lets go of everything. Twice is once. */
  close(): void;
}

export type Taken =
  | { readonly kind: "nothing" }
  | { readonly kind: "items"; readonly batch: ItemBatch }
  /** The reader was too slow; it comes back and reads what the ring has. */
  | { readonly kind: "lagged" }
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly error: unknown };

/** Some items, in order. */
export interface ItemBatch {
  /**
   * The items as messages of a stream.
   *
   * @throws what an item cannot be written for.
   */
  messages(codec: Codec, stream: number): readonly ServerMessage[];
  /** The same as packets, none too large. Not to be changed: others may get the same bytes. */
  packets(codec: Codec, stream: number): readonly Uint8Array[];
}

/** Items of a topic, for all followers that are at the same place: the same packets for each codec. */
export class TopicBatch<Desc extends DescMessage = DescMessage> implements ItemBatch {
  readonly items: readonly TopicItem<Desc>[];
  /** Of each codec, for the stream's number that was asked for last: mostly all ask for the same. */
  readonly #packets = new Map<Codec, { readonly stream: number; readonly packets: readonly Uint8Array[] }>();

  constructor(items: readonly TopicItem<Desc>[]) {
    this.items = items;
  }

  messages(codec: Codec, stream: number): readonly ServerMessage[] {
    return this.items.map((item) =>
      item.lost
        ? lostMessage(stream, { count: 1, seq: item.seq })
        : itemMessage(stream, item.seq, payloadOfPlain(item.plain(codec))),
    );
  }

  packets(codec: Codec, stream: number): readonly Uint8Array[] {
    const known = this.#packets.get(codec);
    if (known?.stream === stream) return known.packets;
    const packets = packetsOf(codec, this.messages(codec, stream));
    this.#packets.set(codec, { stream, packets });
    return packets;
  }
}

/** A packet of items is cut at this size, so that a slow reader's connection holds little. */
export const itemPacketBytesEnough = 262_144;
/** What is around an item in its packet, at most and about. */
const aroundItemBytesMost = 1_024;
const aroundItemBytes = 64;

/** Messages of a stream as packets. @throws ConnectError `TOO_LARGE` for an item that fits in none. */
export function packetsOf(codec: Codec, messages: readonly ServerMessage[]): readonly Uint8Array[] {
  const packets: Uint8Array[] = [];
  let from = 0;
  let bytes = 0;
  for (const [at, message] of messages.entries()) {
    if (bytes > itemPacketBytesEnough) {
      packets.push(writePacket(codec, ServerMessageSchema, messages.slice(from, at)));
      from = at;
      bytes = 0;
    }
    bytes += itemBytesIn(message);
  }
  const rest = from === 0 ? messages : messages.slice(from);
  packets.push(writePacket(codec, ServerMessageSchema, rest));
  return packets;
}

/**
 * Bytes of a message of a stream in its packet, about.
 *
 * @throws ConnectError `TOO_LARGE` for an item that fits in no packet: it would end the connection.
 */
export function itemBytesIn({ kind }: ServerMessage): number {
  const bytes = kind.case === "item" && kind.value.item !== undefined ? payloadBytes(kind.value.item) : 0;
  if (bytes <= packetBytesMost - aroundItemBytesMost) return bytes + aroundItemBytes;
  throw serverError("TOO_LARGE", `an item of the stream has ${bytes} bytes`);
}

export function itemMessage(stream: number, seq: number, item: Payload): ServerMessage {
  return {
    $typeName: "holdfast.link.v1.ServerMessage",
    kind: { case: "item", value: { $typeName: "holdfast.link.v1.Item", stream, seq, item } },
  };
}

export function lostMessage(stream: number, { count, seq }: Gap): ServerMessage {
  return {
    $typeName: "holdfast.link.v1.ServerMessage",
    kind: { case: "lost", value: { $typeName: "holdfast.link.v1.Lost", stream, count, seq } },
  };
}
