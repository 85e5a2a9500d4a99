import { fromBinary, fromJsonString, toBinary, toJson, toJsonString } from "@bufbuild/protobuf";
import { jsonCodec, msgpackCodec, type Codec } from "holdfast/codec";
import { Packr } from "msgpackr";
import type { BenchCase } from "../case.ts";
import { fixtures, type Fixture } from "../fixtures/messages.ts";
import { oldTypeOf } from "../peers/protobuf-es-2-12.ts";

// A message to bytes and back to a message. JSON includes its text's way to bytes and back, as it is sent.
// protobuf-es is here in two versions: the one in use, and 2.12, from whose speed the codecs' targets were set.
// The last two make plain objects, not messages: what the bare libraries take, without any schema.

const packr = new Packr({ useRecords: false });
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const sent = (text: string): string => decoder.decode(encoder.encode(text));

function caseOf({ name, desc, message, generated }: Fixture): BenchCase {
  const binary = toBinary(desc, message);
  const generatedMessage = generated.decode(binary);
  const old = oldTypeOf(desc);
  const plain = toJson(desc, message);
  const trip = (codec: Codec) => () =>
    codec.unshape(desc, codec.unpack(codec.pack(codec.shape(desc, message))));
  const size = (codec: Codec) => codec.pack(codec.shape(desc, message)).length;
  return {
    name: `codec/${name}`,
    base: "protobuf-es binary",
    peers: {
      "protobuf-es binary": () => fromBinary(desc, toBinary(desc, message)),
      "holdfast msgpack": trip(msgpackCodec),
      "protobufjs static": () => generated.decode(generated.encode(generatedMessage).finish()),
      "protobuf-es 2.12 binary": old.binaryTrip(binary),
      "protobuf-es JSON": () => fromJsonString(desc, sent(toJsonString(desc, message))),
      "holdfast JSON": trip(jsonCodec),
      "protobuf-es 2.12 JSON": old.jsonTrip(binary, sent),
      "bare JSON": () => JSON.parse(sent(JSON.stringify(plain))) as unknown,
      "bare msgpackr": () => packr.unpack(packr.pack(plain)) as unknown,
    },
    sizes: {
      "protobuf-es binary": binary.length,
      "holdfast msgpack": size(msgpackCodec),
      "protobufjs static": generated.encode(generatedMessage).finish().length,
      "protobuf-es JSON": encoder.encode(toJsonString(desc, message)).length,
      "holdfast JSON": size(jsonCodec),
      "bare JSON": encoder.encode(JSON.stringify(plain)).length,
      "bare msgpackr": packr.pack(plain).length,
    },
  };
}

export const cases: readonly BenchCase[] = fixtures.map(caseOf);
