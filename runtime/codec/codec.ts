import type { DescMessage, Message, MessageShape, Registry } from "@bufbuild/protobuf";
import type { FirstCall, Reply } from "./call-messages.ts";

declare const madeByCodec: unique symbol;

/**
 * A shaped message: the codec's own form of it, which only the codec that made it can read. A JSON value for
 * the JSON codec, packed bytes for the others.
 */
export interface Plain {
  readonly [madeByCodec]: true;
}

/**
 * Link messages that a codec writes with a user's message right in its place, and without making the link message
 * first. A user's message above `bytesMost` is a RangeError; one that does not fit its types a `CodecError`.
 */
export interface CallMessages {
  /** A `ClientMessage` with a call. */
  shapeCall(call: FirstCall, input: DescMessage, request: Message, bytesMost: number): Plain;
  /** A `ServerMessage` with a result. */
  shapeReply(its: Reply, output: DescMessage, reply: Message, bytesMost: number): Plain;
}

/**
 * Turns messages into bytes and back, in two steps, so that a message can be put inside another one (see
 * `slot.ts`) and many into one packet without being encoded twice.
 *
 * Promises of every codec
 * - `shape` takes the message as it is now: what is changed afterwards does not reach the bytes.
 * - `unshape` gives what `create` gives: same prototype, same presence, and nothing in it, bytes and slots
 *   included, views the memory that was unpacked. A plain of `unpack` may view it: unshape it first, then
 *   reuse the buffer.
 * - Bad input, whichever step meets it, is a `CodecError` with the path of the field, and nothing else.
 * - Fields that the reader's schema does not know are skipped. Unknown fields kept in `$unknown` are not
 *   sent, except by the protobuf codec; extensions are, if the codec's registry knows them.
 */
export interface Codec {
  /** The name that hello carries: `json`, `msgpack` or `proto`. */
  readonly name: string;
  /** Throws `CodecError` if a value does not fit its field's type. */
  shape<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): Plain;
  /** Throws `CodecError` if the plain form does not fit the schema, or is deeper or larger than the limits. */
  unshape<Desc extends DescMessage>(desc: Desc, plain: Plain): MessageShape<Desc>;
  /** The bytes of one message, in memory of their own. */
  pack(plain: Plain): Uint8Array;
  /** Throws `CodecError` if these are not the bytes of one message, as far as that can be told without its schema. */
  unpack(bytes: Uint8Array): Plain;
  /** The bytes of a packet: a list of messages, in order. */
  packList(plains: readonly Plain[]): Uint8Array;
  /** Throws `CodecError` if these are not the bytes of a packet. */
  unpackList(bytes: Uint8Array): Plain[];
  /** What it writes by hand. Absent: nothing. */
  readonly calls?: CallMessages;
  /**
   * The messages of a packet, unshaped. Slots of calls, results and items among them view its bytes. Absent: `unpackList` and
   * `unshape` do it.
   */
  unshapeList?<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc>[];
}

/** What a codec may be told; each has a default that fits most programs. */
export interface CodecOptions {
  /**
   * Message types that `google.protobuf.Any` may hold in JSON, and extensions. Default: none, so that an Any
   * in JSON is an error and extensions are not sent.
   */
  readonly registry?: Registry;
  /** Full names of the message types that are slots. Default: `holdfast.link.v1.Payload`. */
  readonly slotTypeNames?: readonly string[];
  /** Messages inside messages, 1 to 1,000. Default 100, as in other protobuf libraries. Deeper is an error both ways. */
  readonly depthMax?: number;
  /**
   * How many times the length of its bytes a message read may take in memory, by an estimate. Default 32, of which
   * plain data needs a quarter. More is an error on reading, when `headroomBytes` are used up too.
   */
  readonly expansionMax?: number;
  /**
   * What a message read may take in memory beyond that, in bytes, because a single byte may stand for an empty message
   * with many members. Default 8 MiB: 100,000 empty messages with three fields each, or 25,000 with thirty. The
   * messages of one packet share it.
   */
  readonly headroomBytes?: number;
}

/** The options with every default filled in. */
export interface CodecSettings {
  readonly registry: Registry | undefined;
  readonly slotTypeNames: ReadonlySet<string>;
  readonly depthMax: number;
  readonly expansionMax: number;
  readonly headroomBytes: number;
}

/** Throws `RangeError` for a limit that cannot be kept. */
export function settingsOf(options: CodecOptions = {}): CodecSettings {
  const depthMax = options.depthMax ?? 100;
  if (!(depthMax >= 1 && depthMax <= 1000)) {
    throw new RangeError(`depthMax must be from 1 to 1000, got ${depthMax}: deeper would risk the stack`);
  }
  const expansionMax = options.expansionMax ?? 32;
  if (!(expansionMax >= 1)) throw new RangeError(`expansionMax must be at least 1, got ${expansionMax}`);
  const headroomBytes = options.headroomBytes ?? 8 * 1024 * 1024;
  if (!(headroomBytes >= 0)) throw new RangeError(`headroomBytes must not be negative, got ${headroomBytes}`);
  return {
    registry: options.registry,
    slotTypeNames: new Set(options.slotTypeNames ?? ["holdfast.link.v1.Payload"]),
    depthMax,
    expansionMax,
    headroomBytes,
  };
}
