/**
 * What a stream is served from: a topic, a numbered source of the program's own, or just an iterable. Whoever
 * serves it (Follow over HTTP, a wire with many streams) takes what there is when it can write, and waits when
 * there is nothing: so what nobody takes lies in the topic's ring, once for all, and not in a buffer of each.
 *
 * Source: design "Streams: The server".
 */
import { create, type DescMessage } from "@bufbuild/protobuf";
import {
  type Item,
  type Lost,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { payloadOfPlain, writePacket } from "../../runtime/wire/packet.ts";
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
  messages(codec: Codec, stream: number): readonly ServerMessage[];
  /** The same as one packet. Not to be changed: others may get the same bytes. */
  packet(codec: Codec, stream: number): Uint8Array;
}

/** The number of the one stream of a Follow. */
export const onlyStream = 1;

/** Items of a topic, for all followers that are at the same place: one packet for each codec. */
export class TopicBatch<Desc extends DescMessage = DescMessage> implements ItemBatch {
  readonly items: readonly TopicItem<Desc>[];
  #packets: Map<Codec, Uint8Array> | undefined;

  constructor(items: readonly TopicItem<Desc>[]) {
    this.items = items;
  }

  messages(codec: Codec, stream: number): readonly ServerMessage[] {
    return this.items.map((item) =>
      itemMessage({ stream, seq: item.seq, item: payloadOfPlain(item.plain(codec)) }),
    );
  }

  packet(codec: Codec, stream: number): Uint8Array {
    if (stream !== onlyStream) return writePacket(codec, ServerMessageSchema, this.messages(codec, stream));
    this.#packets ??= new Map();
    let packet = this.#packets.get(codec);
    if (packet === undefined) {
      packet = writePacket(codec, ServerMessageSchema, this.messages(codec, stream));
      this.#packets.set(codec, packet);
    }
    return packet;
  }
}

type Fields<T> = Omit<T, "$typeName" | "$unknown">;

export function itemMessage(value: Fields<Item>): ServerMessage {
  return create(ServerMessageSchema, { kind: { case: "item", value } });
}

export function lostMessage(value: Fields<Lost>): ServerMessage {
  return create(ServerMessageSchema, { kind: { case: "lost", value } });
}
