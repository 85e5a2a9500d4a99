import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { CodecError, within } from "./codec-error.ts";
import { settingsOf, type Codec, type CodecOptions, type Plain } from "./codec.ts";
import { MsgpackPlain, msgpackPlain } from "./msgpack-plain.ts";
import { MsgpackReader } from "./msgpack-reader.ts";
import { MsgpackShapers } from "./msgpack-shape.ts";
import { MsgpackUnshapers } from "./msgpack-unshape.ts";
import { MsgpackWriter } from "./msgpack-writer.ts";
import { plainBytes } from "./reading.ts";

/**
 * Messages as msgpack maps keyed by field number, in standard msgpack without extension types, so that any
 * msgpack library and the schema read them. The mapping is described in docs/codecs.md.
 *
 * A shaped message is its packed bytes: shaping writes them straight from the message, unshaping makes the
 * message straight from them, with no tree of plain values in between. A general msgpack library would need
 * that tree; docs/decisions/002-msgpack-mapping.md has the figures.
 */
export function createMsgpackCodec(options?: CodecOptions): Codec {
  const settings = settingsOf(options);
  const shapers = new MsgpackShapers(settings);
  const unshapers = new MsgpackUnshapers(settings);
  const writer = new MsgpackWriter();
  const reader = new MsgpackReader(settings);
  const packets = new MsgpackReader(settings);
  const { headroomBytes } = settings;
  return {
    name: "msgpack",
    shape: (desc, message) => shape(shapers, writer, headroomBytes, desc, message),
    unshape: (desc, plain) => unshape(unshapers, reader, desc, plain),
    pack: (plain) => msgpackPlain(plain).copied(),
    unpack: (bytes) => new MsgpackPlain(bytes, 0, bytes.length, headroomBytes).plain,
    packList,
    unpackList: (bytes) => unpackList(packets, headroomBytes, bytes),
  };
}

/** The msgpack codec with every default. */
export const msgpackCodec: Codec = createMsgpackCodec();

function shape(
  shapers: MsgpackShapers,
  writer: MsgpackWriter,
  headroomBytes: number,
  desc: DescMessage,
  message: Message,
): Plain {
  writer.begin();
  try {
    shapers.of(desc)(writer, message);
  } catch (error) {
    throw within(error, desc.typeName);
  }
  return new MsgpackPlain(writer.bytes, writer.start, writer.pos, headroomBytes).plain;
}

function unshape<Desc extends DescMessage>(
  unshapers: MsgpackUnshapers,
  reader: MsgpackReader,
  desc: Desc,
  plain: Plain,
): MessageShape<Desc> {
  const { bytes, start, end, headroomBytes } = msgpackPlain(plain);
  reader.begin(bytes, start, end, headroomBytes);
  try {
    const message = unshapers.of(desc)(reader);
    if (reader.pos < end) throw new CodecError(`${end - reader.pos} bytes follow the end of the message`);
    return message as MessageShape<Desc>;
  } catch (error) {
    throw within(error, desc.typeName);
  } finally {
    reader.finish();
  }
}

function packList(plains: readonly Plain[]): Uint8Array {
  const parts = plains.map(msgpackPlain);
  const writer = new MsgpackWriter(parts.reduce((sum, part) => sum + part.end - part.start, 5));
  writer.arrayHead(parts.length);
  for (const { bytes, start, end } of parts) writer.raw(bytes, start, end);
  return writer.bytes.subarray(0, writer.pos);
}

function unpackList(reader: MsgpackReader, headroomBytes: number, bytes: Uint8Array): Plain[] {
  reader.begin(bytes, 0, bytes.length, headroomBytes);
  try {
    return plainsOf(reader, headroomBytes, bytes);
  } finally {
    reader.finish();
  }
}

function plainsOf(reader: MsgpackReader, headroomBytes: number, bytes: Uint8Array): Plain[] {
  const length = reader.arrayLength();
  reader.charge(length * plainBytes);
  const share = headroomBytes / Math.max(1, length);
  const plains: Plain[] = [];
  for (let i = 0; i < length; i++) {
    const start = reader.pos;
    reader.skip();
    plains.push(new MsgpackPlain(bytes, start, reader.pos, share).plain);
  }
  if (reader.pos < bytes.length)
    throw new CodecError(`${bytes.length - reader.pos} bytes follow the end of the packet`);
  return plains;
}
