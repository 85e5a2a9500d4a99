import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { CodecError, within } from "./codec-error.ts";
import { settingsOf, type Codec, type CodecOptions, type CodecSettings, type Plain } from "./codec.ts";
import { extensionsOf, type Extensions } from "./extensions.ts";
import { MsgpackCalls, quickReaderOf, readMessage } from "./msgpack-calls.ts";
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
  return codecOf(settings, settings.registry && extensionsOf(settings.registry));
}

/** The msgpack codec with every default: without extensions, whose reflection a page then does not load. */
export const msgpackCodec: Codec = codecOf(settingsOf());

function codecOf(settings: CodecSettings, extensions?: Extensions): Codec {
  const shapers = new MsgpackShapers(settings, extensions);
  const unshapers = new MsgpackUnshapers(settings, extensions);
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
    calls: new MsgpackCalls(shapers, writer, headroomBytes),
    unshapeList: (desc, bytes) => unshapeList(unshapers, reader, packets, headroomBytes, desc, bytes),
  };
}

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
  let bytesMost = 5;
  for (const plain of plains) {
    const { start, end } = msgpackPlain(plain);
    bytesMost += end - start;
  }
  const writer = new MsgpackWriter(bytesMost);
  writer.arrayHead(plains.length);
  // Messages that were shaped one after the other mostly lie so, and are copied in one go.
  let run = none;
  let end = 0;
  for (const plain of plains) {
    const next = msgpackPlain(plain);
    if (next.bytes !== run.bytes || next.start !== end) {
      writer.raw(run.bytes, run.start, end);
      run = next;
    }
    ({ end } = next);
  }
  writer.raw(run.bytes, run.start, end);
  return writer.bytes.subarray(0, writer.pos);
}

const none = new MsgpackPlain(new Uint8Array(), 0, 0, 0);

function unpackList(reader: MsgpackReader, headroomBytes: number, bytes: Uint8Array): Plain[] {
  const plains: Plain[] = [];
  readList(reader, headroomBytes, bytes, () => {
    const start = reader.pos;
    reader.skip();
    plains.push(new MsgpackPlain(bytes, start, reader.pos, reader.headroomBytes).plain);
  });
  return plains;
}

function unshapeList<Desc extends DescMessage>(
  unshapers: MsgpackUnshapers,
  reader: MsgpackReader,
  packets: MsgpackReader,
  headroomBytes: number,
  desc: Desc,
  bytes: Uint8Array,
): MessageShape<Desc>[] {
  const messages: MessageShape<Desc>[] = [];
  const quickly = quickReaderOf(desc);
  const generally = (start: number): MessageShape<Desc> => {
    packets.skip();
    const plain = new MsgpackPlain(bytes, start, packets.pos, packets.headroomBytes).plain;
    return unshape(unshapers, reader, desc, plain);
  };
  readList(packets, headroomBytes, bytes, () => {
    messages.push(
      quickly === undefined ? generally(packets.pos) : readMessage<Desc>(packets, quickly, generally),
    );
  });
  return messages;
}

/** Calls `readOne` where each message of a packet starts, which passes over it. */
function readList(
  reader: MsgpackReader,
  headroomBytes: number,
  bytes: Uint8Array,
  readOne: () => void,
): void {
  reader.begin(bytes, 0, bytes.length, headroomBytes);
  try {
    const length = reader.arrayLength();
    reader.charge(length * plainBytes);
    reader.headroomBytes = headroomBytes / Math.max(1, length);
    for (let i = 0; i < length; i++) readOne();
    if (reader.pos < bytes.length)
      throw new CodecError(`${bytes.length - reader.pos} bytes follow the end of the packet`);
  } finally {
    reader.finish();
  }
}
