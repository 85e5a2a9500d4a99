import {
  fromBinary,
  fromJson,
  toBinary,
  toJson,
  type DescMessage,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { createJsonCodec, createMsgpackCodec, createProtoCodec, type Codec } from "holdfast/codec";
import { Chance } from "./chance.ts";
import { anyTypes, kitchenRegistry, kitchenTypes } from "./kitchen.ts";
import { randomMessage } from "./random-message.ts";
import { expectSame } from "./same-message.ts";

const registry = kitchenRegistry;
/** The kitchen sink holds all the others and takes long. */
const seedsOf = (desc: DescMessage): number => (desc.typeName === "codec.v1.KitchenSink" ? 8 : 40);

function trip(codec: Codec, desc: DescMessage, message: Message): Message {
  return codec.unshape(desc, codec.unpack(codec.pack(codec.shape(desc, message))));
}

function* samples(desc: DescMessage): Generator<{ seed: number; message: Message }> {
  for (let seed = 1; seed <= seedsOf(desc); seed++) {
    yield {
      seed,
      message: randomMessage(desc, new Chance(seed), { anyTypes, registry, depth: 1 + (seed % 4) }),
    };
  }
}

describe.each(kitchenTypes.map((desc) => ({ name: desc.typeName, desc })))("$name", ({ desc }) => {
  const codecs = [createMsgpackCodec({ registry }), createJsonCodec({ registry }), createProtoCodec()];
  test.each(codecs)("comes back from $name as from the binary format, to the last bit", (codec) => {
    for (const { seed, message } of samples(desc)) {
      const bytes = toBinary(desc, message);
      const back = trip(codec, desc, message);
      expectSame(back, fromBinary(desc, bytes), `seed ${seed}`);
      expect(Buffer.from(toBinary(desc, back)).equals(bytes), `seed ${seed}`).toBe(true);
    }
  });

  test("has the JSON that toJson gives, but for the sign of zero, and reads what it gives", () => {
    const codec = createJsonCodec({ registry });
    for (const { seed, message } of samples(desc)) {
      const tree = toJson(desc, message, { registry });
      const text = JSON.stringify(tree);
      const shaped = JSON.parse(decoder.decode(codec.pack(codec.shape(desc, message)))) as JsonValue;
      expect(withoutNegativeZero(shaped), `seed ${seed}`).toEqual(withoutNegativeZero(tree));
      expectSame(fromJson(desc, shaped, { registry }), fromJson(desc, tree, { registry }), `seed ${seed}`);
      const read = codec.unshape(desc, codec.unpack(encoder.encode(text)));
      expectSame(read, fromJson(desc, JSON.parse(text) as JsonValue, { registry }), `seed ${seed}`);
    }
  });
});

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** toJson gives -0 as a number, which the text then loses; the codec gives it as the text "-0". */
function withoutNegativeZero(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json, (_key, value: unknown) => (value === "-0" ? 0 : value)));
}
