import { fromBinary, toBinary, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { CodecError } from "./codec-error.ts";
import { settingsOf, type Codec, type CodecOptions, type Plain } from "./codec.ts";
import { ProtoPlain } from "./proto-plain.ts";

/**
 * Messages in the protobuf binary format, by protobuf-es: for comparison, and for peers that speak nothing
 * else. A packet is a row of messages, each with its length before it. Unlike the other codecs it sends and
 * keeps unknown fields, as every protobuf library does; of the options only `depthMax` counts.
 */
export function createProtoCodec(options?: CodecOptions): Codec {
  const { depthMax } = settingsOf(options);
  return {
    name: "proto",
    shape: (desc, message) => shape(desc, message),
    unshape: (desc, plain) => unshape(desc, plain, depthMax),
    pack: (plain) => protoPlain(plain).bytes,
    unpack: (bytes) => new ProtoPlain(bytes).plain,
    packList,
    unpackList,
  };
}

/** The protobuf binary codec with every default. */
export const protoCodec: Codec = createProtoCodec();

function shape(desc: DescMessage, message: Message): Plain {
  try {
    return new ProtoPlain(toBinary(desc, message)).plain;
  } catch (error) {
    throw translated(error, desc);
  }
}

function unshape<Desc extends DescMessage>(desc: Desc, plain: Plain, depthMax: number): MessageShape<Desc> {
  try {
    // protobuf-es makes byte fields views of what it reads, so it gets a copy.
    return fromBinary(desc, new Uint8Array(protoPlain(plain).bytes), { recursionLimit: depthMax });
  } catch (error) {
    throw translated(error, desc);
  }
}

function packList(plains: readonly Plain[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const plain of plains) writer.bytes(protoPlain(plain).bytes);
  return writer.finish();
}

function unpackList(bytes: Uint8Array): Plain[] {
  const reader = new BinaryReader(bytes);
  const plains: Plain[] = [];
  try {
    while (reader.pos < reader.len) plains.push(new ProtoPlain(reader.bytes()).plain);
  } catch {
    throw new CodecError("the bytes end before the packet does");
  }
  return plains;
}

function protoPlain(plain: Plain): ProtoPlain {
  if (plain instanceof ProtoPlain) return plain;
  throw new CodecError("this was not shaped by the protobuf codec");
}

/** protobuf-es names the field in its own words, so the path is only the message. */
function translated(error: unknown, desc: DescMessage): unknown {
  if (error instanceof CodecError) return error;
  return new CodecError(error instanceof Error ? error.message : String(error), desc.typeName);
}
