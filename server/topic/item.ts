/**
 * One item of a topic. It is taken once, as bytes, when it is published: so it is checked there, its size is known,
 * and a publisher may change its message afterwards. What readers need of it is made when the first one asks, and
 * kept: one encoding for each codec, however many follow.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { Codec, Plain } from "../../runtime/codec/codec.ts";

/** The largest item, in bytes of binary protobuf: what has room before one follower. */
export const itemBytesMost = 1_048_576;

/**
 * The bytes of an item to be published.
 *
 * @throws RangeError for one that is too large.
 */
export function itemBytes<Item extends DescMessage>(
  schema: Item,
  message: MessageInitShape<Item>,
): Uint8Array<ArrayBuffer> {
  const bytes = toBinary(schema, create(schema, message));
  if (bytes.length <= itemBytesMost) return bytes;
  throw new RangeError(
    `holdfast: a ${schema.typeName} of ${bytes.length} bytes was published; ${itemBytesMost} is the most. Publish ` +
      "where the data can be read, and let followers get it by a query.",
  );
}

const nothing = new Uint8Array();

export class TopicItem<Item extends DescMessage = DescMessage> {
  readonly seq: number;
  readonly bytes: Uint8Array;
  /** Bytes of the topic's life up to the end of this item. */
  readonly endBytes: number;
  /** Only its number is there: nobody knows whether there is an item, and followers are told that it is lost. */
  readonly lost: boolean;
  readonly #schema: Item;
  #message: MessageShape<Item> | undefined;
  #plains: Map<Codec, Plain> | undefined;

  /** @param bytes - undefined for one that is lost. */
  constructor(schema: Item, seq: number, bytes: Uint8Array | undefined, endBytes: number) {
    this.#schema = schema;
    this.lost = bytes === undefined;
    this.seq = seq;
    this.bytes = bytes ?? nothing;
    this.endBytes = endBytes;
  }

  /** The message; the same object for everybody, so nobody may change it. */
  get message(): MessageShape<Item> {
    this.#message ??= fromBinary(this.#schema, this.bytes);
    return this.#message;
  }

  /** What a codec makes of it. */
  plain(codec: Codec): Plain {
    this.#plains ??= new Map();
    let plain = this.#plains.get(codec);
    if (plain === undefined) {
      plain = codec.shape(this.#schema, this.message);
      this.#plains.set(codec, plain);
    }
    return plain;
  }
}
