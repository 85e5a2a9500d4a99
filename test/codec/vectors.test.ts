import { readFileSync } from "node:fs";
import { fromBinary, fromJson, toBinary, type DescMessage, type JsonValue } from "@bufbuild/protobuf";
import { encode } from "@msgpack/msgpack";
import { CodecError, msgpackCodec } from "holdfast/codec";
import { describe, expect, test } from "vitest";
import { kitchenRegistry } from "./kitchen.ts";
import { treeOf } from "./vectors/tree.ts";

// The vectors are for implementations in other languages; here they are checked against ours, against the
// protobuf format, and against another msgpack library.

interface Vector {
  readonly title: string;
  readonly type: string;
  readonly json: JsonValue;
  readonly protobuf: string;
  readonly msgpack: string;
  readonly tree: string;
}

const fileOf = <T>(name: string) =>
  JSON.parse(readFileSync(new URL(`vectors/${name}`, import.meta.url), "utf8")) as T;
const { vectors } = fileOf<{ vectors: Vector[] }>("msgpack.json");
const { accepted, refused } = fileOf<{
  accepted: { title: string; type: string; msgpack: string; json: JsonValue }[];
  refused: { title: string; type: string; msgpack: string; problem: string }[];
}>("reading.json");

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
const read = (desc: DescMessage, hex: string) =>
  msgpackCodec.unshape(desc, msgpackCodec.unpack(bytesOf(hex)));

function typeOf(name: string): DescMessage {
  const desc = kitchenRegistry.getMessage(name);
  if (desc === undefined) throw new Error(`no type ${name}`);
  return desc;
}

describe.each(vectors)("$type: $title", ({ type, json, protobuf, msgpack, tree }) => {
  const desc = typeOf(type);

  test("is written as the vector says, and read back", () => {
    const message = fromBinary(desc, bytesOf(protobuf));
    expect(Buffer.from(msgpackCodec.pack(msgpackCodec.shape(desc, message))).toString("hex")).toBe(msgpack);
    expect(Buffer.from(toBinary(desc, read(desc, msgpack))).toString("hex")).toBe(protobuf);
  });

  test("is read by another msgpack library as the tree says", () => {
    expect(treeOf(bytesOf(msgpack))).toBe(tree);
  });

  test("is the message that its JSON is", () => {
    const bytes = toBinary(desc, fromJson(desc, json, { registry: kitchenRegistry }));
    // JSON text has no sign of zero.
    if (!tree.includes("-0")) expect(Buffer.from(bytes).toString("hex")).toBe(protobuf);
  });
});

test.each(accepted)("accepted in $type: $title", ({ type, msgpack, json }) => {
  const desc = typeOf(type);
  expect(toBinary(desc, read(desc, msgpack))).toEqual(toBinary(desc, fromJson(desc, json)));
});

test.each(refused)("refused in $type: $title", ({ type, msgpack, problem }) => {
  let error: unknown;
  try {
    read(typeOf(type), msgpack);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(CodecError);
  expect((error as CodecError).problem).toBe(problem);
});

test("what another library writes from a map with integer keys is read", () => {
  // @msgpack/msgpack writes maps of objects only, with strings as keys, so its values are joined by hand.
  const parts = [[0x83], [3], encode(-7), [9], encode(4294967295), [14], encode("grüße")].map((part) =>
    Array.from(part),
  );
  const desc = typeOf("codec.v1.Scalars");
  expect(read(desc, Buffer.from(parts.flat()).toString("hex"))).toMatchObject({
    int32Field: -7,
    fixed32Field: 4294967295,
    stringField: "grüße",
  });
});
