import { create } from "@bufbuild/protobuf";
import { CodecError, jsonCodec, msgpackCodec, type Codec } from "holdfast/codec";
import { describe, expect, test } from "vitest";
import {
  ChoiceSchema,
  ListsSchema,
  MapsSchema,
  NodeSchema,
  OptionalsSchema,
  ScalarsSchema,
} from "./gen/codec/v1/kitchen3_pb.ts";

// Mishaps of other projects, as tests.

const bytes = (...values: number[]) => Uint8Array.from(values);
const read = (input: Uint8Array, desc = NodeSchema) => msgpackCodec.unshape(desc, msgpackCodec.unpack(input));

function refusal(run: () => unknown): CodecError {
  try {
    run();
  } catch (error) {
    if (error instanceof CodecError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("a crafted message does not hang the decoder", () => {
  const nested = (depth: number, head: number[], tail: number[]) =>
    Uint8Array.from([...Array.from({ length: depth }, () => head).flat(), ...tail]);

  test.each([
    ["an array as key", bytes(0x81, 0x91, 0x91, 0x01, 0x01)],
    ["a map as key", bytes(0x81, 0x81, 0x01, 0x01, 0x01)],
    ["a key that refers to itself by an extension", bytes(0x81, 0xd4, 0x01, 0x01, 0x01)],
    ["an extension as value", bytes(0x81, 0x01, 0xd6, 0xff, 0, 0, 0, 0)],
    ["an extension in a field that is skipped", bytes(0x81, 0x7f, 0xc7, 0x01, 0x05, 0x00)],
    ["the byte that is never used", bytes(0xc1)],
    ["that byte in a field that is skipped", bytes(0x81, 0x7f, 0x91, 0xc1)],
    ["a list of 4 billion", bytes(0x81, 0x03, 0xdd, 0xff, 0xff, 0xff, 0xff)],
    ["a map of 4 billion", bytes(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ["a string of 4 billion bytes", bytes(0x81, 0x01, 0xdb, 0xff, 0xff, 0xff, 0xff, 0x61)],
    ["100,000 messages deep", nested(100_000, [0x81, 0x02], [0x80])],
    ["twenty nested arrays of 16 million", nested(20, [0xdd, 0x00, 0xff, 0xff, 0xff], [])],
    ["invalid UTF-8", bytes(0x81, 0x01, 0xa2, 0xc0, 0xaf)],
    ["a surrogate in UTF-8", bytes(0x81, 0x01, 0xa3, 0xed, 0xa0, 0x80)],
    ["bytes after the end", bytes(0x80, 0x00)],
    ["nothing at all", bytes()],
  ])("%s is refused", (_title, input) => {
    const error = refusal(() => read(input));
    expect(error.problem).not.toBe("");
  });

  test("nesting of 100,000 in a field that is skipped takes no stack", () => {
    expect(read(nested(1, [0x81, 0x7f], [...new Array<number>(100_000).fill(0x91), 0x01])).name).toBe("");
  });

  test("every truncation of a message is refused", () => {
    const whole = msgpackCodec.pack(
      msgpackCodec.shape(
        NodeSchema,
        create(NodeSchema, { name: "x".repeat(40), next: { name: "ü" }, children: [{}, { name: "c" }] }),
      ),
    );
    for (let length = 0; length < whole.length; length++) {
      expect(() => read(whole.subarray(0, length)), `${length} bytes`).toThrow(CodecError);
    }
  });

  test("a message of a hundred levels is read, one more is not, and the same for sending", () => {
    const deep = (levels: number) => {
      let node = create(NodeSchema);
      for (let i = 1; i < levels; i++) node = create(NodeSchema, { next: node });
      return node;
    };
    for (const codec of [msgpackCodec, jsonCodec]) {
      const plain = codec.shape(NodeSchema, deep(100));
      expect(codec.unshape(NodeSchema, plain)).toEqual(deep(100));
      expect(refusal(() => codec.shape(NodeSchema, deep(101))).path).toMatch(
        /^codec\.v1\.Node(\.next){100}$/,
      );
      expect(() => codec.shape(NodeSchema, deep(20_000))).toThrow(CodecError);
    }
    expect(() => read(nested(100, [0x81, 0x02], [0x80]))).toThrow(/100 deep/);
    const text = `${'{"next":'.repeat(100)}{}${"}".repeat(100)}`;
    expect(() => jsonCodec.unshape(NodeSchema, jsonCodec.unpack(new TextEncoder().encode(text)))).toThrow(
      /100 deep/,
    );
  });
});

describe.each<Codec>([msgpackCodec, jsonCodec])("no number vanishes in $name", (codec) => {
  const trip = <T extends Parameters<Codec["shape"]>[0]>(
    desc: T,
    message: Parameters<typeof codec.shape<T>>[1],
  ) => codec.unshape(desc, codec.unpack(codec.pack(codec.shape(desc, message))));

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0])(
    "%d comes back from every place",
    (value) => {
      const scalars = trip(ScalarsSchema, create(ScalarsSchema, { doubleField: value, floatField: value }));
      expect([scalars.doubleField, scalars.floatField]).toEqual([value, value]);
      const optionals = trip(
        OptionalsSchema,
        create(OptionalsSchema, { doubleField: value, floatField: value }),
      );
      expect([optionals.doubleField, optionals.floatField]).toEqual([value, value]);
      const lists = trip(ListsSchema, create(ListsSchema, { doubles: [value, 1], floats: [value] }));
      expect([lists.doubles, lists.floats]).toEqual([[value, 1], [value]]);
      const maps = trip(MapsSchema, create(MapsSchema, { bySint32: { 1: value }, bySint64: { 2: value } }));
      expect([maps.bySint32, maps.bySint64]).toEqual([{ 1: value }, { 2: value }]);
      const choice = trip(ChoiceSchema, create(ChoiceSchema, { kind: { case: "doubleCase", value } }));
      expect(choice.kind).toEqual({ case: "doubleCase", value });
    },
  );

  test.each([0n, 1n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n])(
    "%d keeps its value and its declared type",
    (value) => {
      const message = create(ScalarsSchema, {
        int64Field: -value,
        uint64Field: value,
        sint64Field: -value,
        fixed64Field: value,
        sfixed64Field: value,
        textLong: value.toString(),
        textUlong: value.toString(),
      });
      expect(trip(ScalarsSchema, message)).toEqual(message);
      const maps = create(MapsSchema, {
        byInt64: { [(-value).toString()]: "a" },
        byUint64: { [value.toString()]: bytes(1) },
        byFixed32: { 1: -value },
        byFixed64: { [value.toString()]: value },
      });
      expect(trip(MapsSchema, maps)).toEqual(maps);
    },
  );

  test("the limits of 64 bits keep their value", () => {
    const message = create(ScalarsSchema, {
      int64Field: -(2n ** 63n),
      uint64Field: 2n ** 64n - 1n,
      textUlong: (2n ** 64n - 1n).toString(),
    });
    expect(trip(ScalarsSchema, message)).toEqual(message);
  });

  test.each([
    ["int64_field", { int64Field: 2n ** 63n }],
    ["int64_field", { int64Field: -(2n ** 63n) - 1n }],
    ["uint64_field", { uint64Field: -1n }],
    ["uint64_field", { uint64Field: 2n ** 64n }],
    ["int32_field", { int32Field: 2 ** 31 }],
    ["int32_field", { int32Field: 1.5 }],
    ["uint32_field", { uint32Field: -1 }],
    ["float_field", { floatField: 1e39 }],
    ["text_long", { textLong: "9223372036854775808" }],
    ["text_long", { textLong: "twelve" }],
    ["string_field", { stringField: 5 as never }],
    ["bytes_field", { bytesField: "abc" as never }],
    ["bool_field", { boolField: 1 as never }],
    ["enum_field", { enumField: "RED" as never }],
  ])("%s out of its range is refused on the sending side, by name", (name, init) => {
    const message = Object.assign(create(ScalarsSchema), init);
    expect(refusal(() => codec.shape(ScalarsSchema, message)).path).toBe(`codec.v1.Scalars.${name}`);
  });

  test("a map key that is not of its type is refused on the sending side, by name", () => {
    for (const byInt32 of [{ x: "" }, { "01": "" }, { "2147483648": "" }, { " 1": "" }]) {
      const message = create(MapsSchema, { byInt32: byInt32 });
      expect(refusal(() => codec.shape(MapsSchema, message)).path).toMatch(/^codec\.v1\.Maps\.by_int32\["/);
    }
  });
});

test("1e400 in JSON text is refused, not made Infinity", () => {
  const plain = jsonCodec.unpack(new TextEncoder().encode('{"doubleField":1e400}'));
  expect(refusal(() => jsonCodec.unshape(ScalarsSchema, plain)).path).toBe("codec.v1.Scalars.double_field");
});
