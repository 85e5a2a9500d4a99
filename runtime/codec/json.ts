import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { within } from "./codec-error.ts";
import { settingsOf, type Codec, type CodecOptions, type Plain } from "./codec.ts";
import { JsonPlain, jsonPlain } from "./json-plain.ts";
import { JsonReader } from "./json-reader.ts";
import { JsonShapers } from "./json-shape.ts";
import { JsonUnshapers } from "./json-unshape.ts";
import { JsonWriter } from "./json-writer.ts";
import { plainBytes } from "./reading.ts";

/**
 * Messages as ProtoJSON, readable by people, by browsers' tools and by every protobuf library. Differences to
 * `toJson` are listed in docs/codecs.md.
 *
 * A shaped message is its text, as bytes: shaping writes them straight from the message, unshaping makes the
 * message straight from them. `JSON.stringify` and `JSON.parse` would need a tree of values in between, which takes
 * as long again, and which a hostile text makes as large as it likes; docs/decisions/006-codec-targets.md has the
 * figures.
 */
export function createJsonCodec(options?: CodecOptions): Codec {
  const settings = settingsOf(options);
  const shapers = new JsonShapers(settings);
  const unshapers = new JsonUnshapers(settings);
  const writer = new JsonWriter();
  const reader = new JsonReader(settings);
  const { headroomBytes } = settings;
  return {
    name: "json",
    shape: (desc, message) => shape(shapers, writer, headroomBytes, desc, message),
    unshape: (desc, plain) => unshape(unshapers, reader, desc, plain),
    pack: (plain) => jsonPlain(plain).copied(),
    unpack: (bytes) => new JsonPlain(bytes, 0, bytes.length, headroomBytes).plain,
    packList,
    unpackList: (bytes) => unpackList(new JsonReader(settings), headroomBytes, bytes),
  };
}

/** The JSON codec with every default. */
export const jsonCodec: Codec = createJsonCodec();

function shape(
  shapers: JsonShapers,
  writer: JsonWriter,
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
  return new JsonPlain(writer.bytes, writer.start, writer.pos, headroomBytes).plain;
}

function unshape<Desc extends DescMessage>(
  unshapers: JsonUnshapers,
  reader: JsonReader,
  desc: Desc,
  plain: Plain,
): MessageShape<Desc> {
  const { bytes, start, end, headroomBytes } = jsonPlain(plain);
  reader.begin(bytes, start, end, headroomBytes);
  try {
    const message = unshapers.of(desc)(reader);
    reader.finished();
    return message as MessageShape<Desc>;
  } catch (error) {
    throw within(error, desc.typeName);
  } finally {
    reader.finish();
  }
}

function packList(plains: readonly Plain[]): Uint8Array {
  const parts = plains.map(jsonPlain);
  const writer = new JsonWriter(parts.reduce((sum, part) => sum + part.end - part.start + 1, 2));
  const opened = writer.opened();
  for (const { bytes, start, end } of parts) {
    writer.comma();
    writer.raw(bytes, start, end);
  }
  writer.closedArray(opened);
  return writer.bytes.subarray(0, writer.pos);
}

function unpackList(reader: JsonReader, headroomBytes: number, bytes: Uint8Array): Plain[] {
  reader.begin(bytes, 0, bytes.length, headroomBytes);
  const spans: number[] = [];
  if (reader.startArray("a packet, which is an array of messages")) {
    do {
      reader.charge(plainBytes);
      reader.peek();
      spans.push(reader.pos);
      reader.skip();
      spans.push(reader.pos);
    } while (reader.moreItems());
  }
  reader.finished();
  const share = headroomBytes / Math.max(1, spans.length / 2);
  const plains: Plain[] = [];
  for (let i = 0; i < spans.length; i += 2)
    plains.push(new JsonPlain(bytes, spans[i] ?? 0, spans[i + 1] ?? 0, share).plain);
  return plains;
}
