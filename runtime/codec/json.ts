import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { CodecError, within } from "./codec-error.ts";
import { settingsOf, type Codec, type CodecOptions, type Plain } from "./codec.ts";
import { JsonShapers } from "./json-shape.ts";
import { JsonUnshapers } from "./json-unshape.ts";
import { Reading } from "./reading.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Messages as ProtoJSON, readable by people, by browsers' tools and by every protobuf library. A shaped message
 * is its JSON value. Differences to `toJson` are listed in docs/codecs.md.
 */
export function createJsonCodec(options?: CodecOptions): Codec {
  const settings = settingsOf(options);
  const shapers = new JsonShapers(settings);
  const unshapers = new JsonUnshapers(settings);
  return {
    name: "json",
    shape: (desc, message) => {
      try {
        return shapers.of(desc)(message, 0) as unknown as Plain;
      } catch (error) {
        throw within(error, desc.typeName);
      }
    },
    unshape: <Desc extends DescMessage>(desc: Desc, plain: Plain) => {
      try {
        return unshapers.of(desc)(plain, new Reading(settings)) as MessageShape<Desc>;
      } catch (error) {
        throw within(error, desc.typeName);
      }
    },
    pack: (plain) => encoder.encode(JSON.stringify(plain)),
    unpack: (bytes) => parsed(bytes) as Plain,
    packList: (plains) => encoder.encode(JSON.stringify(plains)),
    unpackList: (bytes) => {
      const json = parsed(bytes);
      if (!Array.isArray(json)) throw new CodecError("a packet is a JSON array of messages");
      return json as Plain[];
    },
  };
}

/** The JSON codec with every default. */
export const jsonCodec: Codec = createJsonCodec();

/** The text itself is not put into the error: it may hold what nobody should see in a log. */
function parsed(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new CodecError("the bytes are not UTF-8 text");
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new CodecError("the text is not JSON");
  }
}
