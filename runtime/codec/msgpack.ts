import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { CodecError, within } from "./codec-error.ts";
import { settingsOf, type Codec, type CodecOptions, type CodecSettings, type Plain } from "./codec.ts";
import { MsgpackPlain, msgpackPlain } from "./msgpack-plain.ts";
import { MsgpackReader } from "./msgpack-reader.ts";
import { MsgpackShapers } from "./msgpack-shape.ts";
import { MsgpackUnshapers } from "./msgpack-unshape.ts";
import { MsgpackWriter } from "./msgpack-writer.ts";

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
  return {
    name: "msgpack",
    shape: (desc, message) => shape(shapers, writer, desc, message),
    unshape: (desc, plain) => unshape(unshapers, settings, desc, plain),
    pack: (plain) => msgpackPlain(plain).copied(),
    unpack: (bytes) => new MsgpackPlain(bytes, 0, bytes.length).plain,
    packList,
    unpackList: (bytes) => unpackList(settings, bytes),
  };
}

/** The msgpack codec with every default. */
export const msgpackCodec: Codec = createMsgpackCodec();

function shape(shapers: MsgpackShapers, writer: MsgpackWriter, desc: DescMessage, message: Message): Plain {
  writer.begin();
  try {
    shapers.of(desc)(writer, message);
  } catch (error) {
    throw within(error, desc.typeName);
  }
  return new MsgpackPlain(writer.bytes, writer.start, writer.pos).plain;
}

function unshape<Desc extends DescMessage>(
  unshapers: MsgpackUnshapers,
  settings: CodecSettings,
  desc: Desc,
  plain: Plain,
): MessageShape<Desc> {
  const { bytes, start, end } = msgpackPlain(plain);
  const reader = new MsgpackReader(bytes, start, end, settings);
  try {
    const message = unshapers.of(desc)(reader);
    if (reader.pos < end) throw new CodecError(`${end - reader.pos} bytes follow the end of the message`);
    return message as MessageShape<Desc>;
  } catch (error) {
    throw within(error, desc.typeName);
  }
}

function packList(plains: readonly Plain[]): Uint8Array {
  const parts = plains.map(msgpackPlain);
  const writer = new MsgpackWriter(parts.reduce((sum, part) => sum + part.end - part.start, 5));
  writer.arrayHead(parts.length);
  for (const { bytes, start, end } of parts) writer.raw(bytes, start, end);
  return writer.bytes.subarray(0, writer.pos);
}

function unpackList(settings: CodecSettings, bytes: Uint8Array): Plain[] {
  const reader = new MsgpackReader(bytes, 0, bytes.length, settings);
  const length = reader.arrayLength();
  const plains: Plain[] = [];
  for (let i = 0; i < length; i++) {
    const start = reader.pos;
    reader.charge(1);
    reader.skip();
    plains.push(new MsgpackPlain(bytes, start, reader.pos).plain);
  }
  if (reader.pos < bytes.length)
    throw new CodecError(`${bytes.length - reader.pos} bytes follow the end of the packet`);
  return plains;
}
