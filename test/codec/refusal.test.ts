import { create, toBinary } from "@bufbuild/protobuf";
import {
  CodecError,
  createMsgpackCodec,
  createJsonCodec,
  createProtoCodec,
  jsonCodec,
  msgpackCodec,
  protoCodec,
} from "holdfast/codec";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { Packr } from "msgpackr";
import { describe, expect, test } from "vitest";
import { kitchenRegistry } from "./kitchen.ts";
import { OldSchema } from "./gen/codec/v1/kitchen2_pb.ts";
import { EditionSchema } from "./gen/codec/v1/kitchen_editions_pb.ts";
import {
  ChoiceSchema,
  KitchenSinkSchema,
  ListsSchema,
  MapsSchema,
  NodeSchema,
  ScalarsSchema,
  WellKnownSchema,
  WideSchema,
} from "./gen/codec/v1/kitchen3_pb.ts";

const map = (...entries: [unknown, unknown][]) => new Map(entries);
const packr = new Packr({ useRecords: false, mapsAsObjects: false, int64AsType: "bigint" });
const msgpack = (tree: unknown) => msgpackCodec.unpack(new Uint8Array(packr.pack(tree)));
const encoder = new TextEncoder();
const jsonText = (text: string) => jsonCodec.unpack(encoder.encode(text));
const json = (value: unknown) => jsonText(JSON.stringify(value));

function refusal(run: () => unknown): CodecError {
  try {
    run();
  } catch (error) {
    if (error instanceof CodecError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("the path leads to the value", () => {
  test.each([
    [
      map([1, map([3, "text"])]),
      "codec.v1.KitchenSink.scalars.int32_field: expected an integer, got a string",
    ],
    [
      map([4, map([11, map([5n, map([14, 1])])])]),
      'codec.v1.KitchenSink.maps.by_sfixed64["5"].string_field: expected a string, got an integer',
    ],
    [
      map([3, map([12, [map(), map([1, true])]])]),
      "codec.v1.KitchenSink.lists.messages[1].double_field: expected a number, got true",
    ],
    [
      map([5, map([6, map([15, "x"])])]),
      "codec.v1.KitchenSink.choice.message_case.bytes_field: expected bytes, got a string",
    ],
    [
      map([6, 1]),
      "codec.v1.KitchenSink.node: expected a map with the fields of codec.v1.Node, got an integer",
    ],
    [map([6, map([1, null])]), "codec.v1.KitchenSink.node.name: expected a string, got nil"],
    [map(["6", map()]), "codec.v1.KitchenSink: expected a field number as key, got a string"],
    [
      map([1, map([3, 2 ** 31])]),
      "codec.v1.KitchenSink.scalars.int32_field: expected an integer from -2147483648 to 2147483647, got 2147483648",
    ],
    [
      map([4, map([12, map([1, "x"])])]),
      "codec.v1.KitchenSink.maps.by_bool: expected true or false, got an integer",
    ],
    [
      map([4, map([1, map([1, 1])])]),
      "codec.v1.KitchenSink.maps.by_string: expected a string, got an integer",
    ],
  ])("in msgpack %#", (tree, text) => {
    expect(refusal(() => msgpackCodec.unshape(KitchenSinkSchema, msgpack(tree))).message).toBe(text);
  });

  test.each([
    [
      { scalars: { int32Field: "text" } },
      "codec.v1.KitchenSink.scalars.int32_field: expected an integer from -2147483648 to 2147483647, got a string of 4 characters",
    ],
    [
      { maps: { bySfixed64: { 5: { stringField: 1 } } } },
      'codec.v1.KitchenSink.maps.by_sfixed64["5"].string_field: expected a string, got 1',
    ],
    [
      { maps: { byBool: { yes: "x" } } },
      'codec.v1.KitchenSink.maps.by_bool["yes"]: expected the key "true" or "false", got a string of 3 characters',
    ],
    [
      { lists: { messages: [{}, null] } },
      "codec.v1.KitchenSink.lists.messages[1]: expected a value, got null",
    ],
    [
      { choice: { messageCase: { bytesField: "?" } } },
      "codec.v1.KitchenSink.choice.message_case.bytes_field: expected bytes as base64 text, got other text",
    ],
    [
      { node: [] },
      "codec.v1.KitchenSink.node: expected an object with the fields of codec.v1.Node, got an array",
    ],
    [
      { wellKnown: { timestamp: "yesterday" } },
      "codec.v1.KitchenSink.well_known.timestamp: invalid RFC 3339 string",
    ],
    [
      { wellKnown: { any: { "@type": "type.googleapis.com/codec.v1.Node" } } },
      "codec.v1.KitchenSink.well_known.any: the type of this Any is not in the registry: JSON needs it, see the codec's options",
    ],
  ])("in JSON %#", (value, text) => {
    expect(refusal(() => jsonCodec.unshape(KitchenSinkSchema, json(value))).message).toBe(text);
  });

  test("long keys of a peer are cut, and its text is never repeated", () => {
    const tree = map([4, map([1, map(["k".repeat(1000), "secret"])])]);
    const run = () => msgpackCodec.unshape(KitchenSinkSchema, msgpack(tree));
    expect(run).toThrow(
      `codec.v1.KitchenSink.maps.by_string["${"k".repeat(40)}…"]: expected an integer, got a string`,
    );
  });
});

describe("no prototype is changed", () => {
  const keys = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"];

  test("by the keys of a map: each stays an own property", () => {
    const read = msgpackCodec.unshape(
      MapsSchema,
      msgpack(map([1, map(...keys.map((key): [string, number] => [key, 7]))])),
    );
    const fromJson = jsonCodec.unshape(
      MapsSchema,
      json(JSON.parse(`{"byString":{${keys.map((key) => `"${key}":7`).join()}}}`)),
    );
    for (const record of [read.byString, fromJson.byString]) {
      expect(Object.keys(record)).toEqual(keys);
      expect(Object.getPrototypeOf(record)).toBe(Object.prototype);
      for (const key of keys) expect(Object.getOwnPropertyDescriptor(record, key)?.value).toBe(7);
    }
    expect(msgpackCodec.unshape(MapsSchema, msgpackCodec.shape(MapsSchema, read))).toEqual(read);
    expect(
      jsonCodec.unshape(MapsSchema, jsonCodec.unpack(jsonCodec.pack(jsonCodec.shape(MapsSchema, read)))),
    ).toEqual(read);
  });

  test("by a JSON key that is no field", () => {
    const read = jsonCodec.unshape(
      NodeSchema,
      json(JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{}},"name":"n"}')),
    );
    expect(read).toEqual(create(NodeSchema, { name: "n" }));
    expect("polluted" in read).toBe(false);
  });

  test("by a field of such a name", () => {
    const message = create(WideSchema);
    for (const member of WideSchema.members.slice(-4, -1))
      (message as unknown as Record<string, unknown>)[member.localName] = member.name;
    message.hasOwnProperty = ["x"] as never;
    for (const codec of [msgpackCodec, jsonCodec]) {
      const read = codec.unshape(WideSchema, codec.unpack(codec.pack(codec.shape(WideSchema, message))));
      expect(toBinary(WideSchema, read)).toEqual(toBinary(WideSchema, message));
      expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    }
  });

  test("by the keys of a Struct", () => {
    const text = '{"__proto__":{"polluted":true},"a":[{"__proto__":1}]}';
    for (const desc of [StructSchema]) {
      const read = jsonCodec.unshape(desc, json(JSON.parse(text)));
      expect(Object.keys(read.fields)).toEqual(["__proto__", "a"]);
    }
    const inField = jsonCodec.unshape(WellKnownSchema, json({ struct: JSON.parse(text) as unknown }));
    expect(JSON.stringify(inField.struct)).toBe(text);
    const again = msgpackCodec.unshape(WellKnownSchema, msgpackCodec.shape(WellKnownSchema, inField));
    expect(JSON.stringify(again.struct)).toBe(text);
  });
});

describe("a field that comes twice is refused", () => {
  // A Map cannot hold a key twice, so these are bytes.
  test.each([
    ["the same number", NodeSchema, [0x82, 0x01, 0xa0, 0x01, 0xa0], "codec.v1.Node.name"],
    ["two fields of one oneof", ChoiceSchema, [0x82, 0x02, 0x01, 0x03, 0xa0], "codec.v1.Choice.string_case"],
    ["in a message with many members", WideSchema, [0x82, 0x01, 0x01, 0x01, 0x02], "codec.v1.Wide.f1"],
  ])("%s", (_title, desc, bytes, path) => {
    expect(() => msgpackCodec.unshape(desc, msgpackCodec.unpack(Uint8Array.from(bytes)))).toThrow(
      new CodecError("the field, or another of its oneof, came before", path),
    );
  });

  test("in JSON, under its two names or by two fields of a oneof", () => {
    expect(() => jsonCodec.unshape(ScalarsSchema, json({ int32Field: 1, int32_field: 2 }))).toThrow(
      "came before",
    );
    expect(() => jsonCodec.unshape(ChoiceSchema, json({ int32Case: 1, stringCase: "" }))).toThrow(
      "came before",
    );
  });

  test("but of a map's key the last value counts, as in the binary format", () => {
    const bytes = Uint8Array.from([0x81, 0x01, 0x82, 0xa1, 0x61, 0x01, 0xa1, 0x61, 0x02]);
    expect(msgpackCodec.unshape(MapsSchema, msgpackCodec.unpack(bytes)).byString).toEqual({ a: 2 });
  });
});

describe("enums", () => {
  test("that are open keep numbers they do not know", () => {
    expect(msgpackCodec.unshape(ListsSchema, msgpack(map([11, [1, 99]]))).colors).toEqual([1, 99]);
    expect(jsonCodec.unshape(ListsSchema, json({ colors: ["COLOR_RED", 99] })).colors).toEqual([1, 99]);
  });

  test("that are closed drop them, in fields, lists, maps and oneofs", () => {
    const read = msgpackCodec.unshape(
      OldSchema,
      msgpack(map([3, 99], [8, [1, 99, 2]], [9, map(["a", 99], ["b", 2])], [12, 99])),
    );
    const fromJson = jsonCodec.unshape(
      OldSchema,
      json({
        closed: 99,
        closeds: ["CLOSED_A", 99, "LATER"],
        closedMap: { a: 99, b: 2 },
        closedCase: "LATER",
      }),
    );
    for (const old of [read, fromJson]) {
      expect(Object.hasOwn(old, "closed")).toBe(false);
      expect(old.closedMap).toEqual({ b: 2 });
      expect(old.pick).toEqual({ case: undefined });
    }
    expect(read.closeds).toEqual([1, 2]);
    expect(fromJson.closeds).toEqual([1]);
  });

  test("that are closed are not sent with a number they do not declare", () => {
    for (const codec of [msgpackCodec, jsonCodec]) {
      expect(() => codec.shape(OldSchema, create(OldSchema, { closed: 99 as never }))).toThrow(
        "codec.v1.Old.closed: 99 is not a value of the closed enum codec.v1.Closed",
      );
    }
  });
});

test("a required field that is not set is refused on the sending side, by name", () => {
  for (const codec of [msgpackCodec, jsonCodec]) {
    expect(() => codec.shape(EditionSchema, create(EditionSchema))).toThrow(
      "codec.v1.Edition.required: the field is required and not set",
    );
  }
  expect(() => protoCodec.shape(EditionSchema, create(EditionSchema))).toThrow(CodecError);
});

test("a message of another type is refused on the sending side", () => {
  const node = create(NodeSchema);
  node.next = create(ScalarsSchema) as never;
  for (const codec of [msgpackCodec, jsonCodec]) {
    expect(() => codec.shape(NodeSchema, create(ScalarsSchema) as never)).toThrow(
      "codec.v1.Node: expected a codec.v1.Node, got a codec.v1.Scalars",
    );
    expect(() => codec.shape(NodeSchema, node)).toThrow(
      "codec.v1.Node.next: expected a codec.v1.Node, got a codec.v1.Scalars",
    );
  }
});

describe("limits", () => {
  test("a small packet cannot make a large object: empty messages count with their members", () => {
    const many = 100_000;
    const bytes = new Uint8Array(7 + many).fill(0x80);
    bytes.set([0x81, 0x0c, 0xdd, 0, many >> 16, many >> 8, many & 0xff], 0);
    expect(() => msgpackCodec.unshape(ListsSchema, msgpackCodec.unpack(bytes))).toThrow("far more memory");
    expect(() =>
      jsonCodec.unshape(ListsSchema, json({ messages: Array.from({ length: many }, () => ({})) })),
    ).toThrow("far more memory");
  });

  test("can be set, and bad ones are refused at once", () => {
    const bytes = msgpackCodec.pack(msgpack(map([9, ["a", "b", "c"]])));
    for (const limits of [{ headroomBytes: 0 }, { headroomBytes: 200, expansionMax: 1 }]) {
      const codec = createMsgpackCodec(limits);
      expect(() => codec.unshape(ListsSchema, codec.unpack(bytes))).toThrow("far more memory");
    }
    expect(() => createJsonCodec({ depthMax: 1 }).unshape(NodeSchema, json({ next: {} }))).toThrow(
      "more than 1 deep",
    );
    expect(() => createProtoCodec({ depthMax: 0 })).toThrow(RangeError);
    expect(() => createMsgpackCodec({ depthMax: 5000 })).toThrow("would risk the stack");
    expect(() => createMsgpackCodec({ headroomBytes: Number.NaN })).toThrow(RangeError);
    expect(() => createMsgpackCodec({ expansionMax: 0 })).toThrow(RangeError);
  });

  test("hold for JSON inside a message as well", () => {
    const deep = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`) as never;
    for (const codec of [msgpackCodec, jsonCodec]) {
      expect(() => codec.shape(WellKnownSchema, create(WellKnownSchema, { struct: deep(1000) }))).toThrow(
        CodecError,
      );
      const ok = create(WellKnownSchema, { struct: deep(40) });
      expect(codec.unshape(WellKnownSchema, codec.shape(WellKnownSchema, ok))).toEqual(ok);
    }
    expect(() => jsonCodec.unshape(WellKnownSchema, json({ struct: deep(1000) }))).toThrow("nested too deep");
    expect(() => jsonCodec.unshape(StructSchema, json(deep(1000)))).toThrow("nested too deep");
    expect(() => jsonCodec.unshape(WellKnownSchema, json({ value: deep(1000) }))).toThrow("nested too deep");
  });
});

describe("memory", () => {
  test.each([msgpackCodec, jsonCodec, protoCodec])(
    "what $name read does not change with the buffer",
    (codec) => {
      const message = create(ScalarsSchema, { bytesField: new Uint8Array(200).fill(7), stringField: "text" });
      for (const kind of [Uint8Array.from.bind(Uint8Array), Buffer.from.bind(Buffer)] as ((
        b: Uint8Array,
      ) => Uint8Array)[]) {
        const bytes = kind(codec.pack(codec.shape(ScalarsSchema, message)));
        const read = codec.unshape(ScalarsSchema, codec.unpack(bytes));
        bytes.fill(0);
        expect(read).toEqual(message);
        expect(Buffer.isBuffer(read.bytesField)).toBe(false);
      }
    },
  );

  test.each([msgpackCodec, jsonCodec, protoCodec])(
    "what $name shaped does not change with the message, nor with the next ones",
    (codec) => {
      const message = create(ScalarsSchema, { bytesField: new Uint8Array([1, 2, 3]), stringField: "first" });
      const copy = create(ScalarsSchema, { bytesField: new Uint8Array([1, 2, 3]), stringField: "first" });
      const plain = codec.shape(ScalarsSchema, message);
      message.bytesField.fill(0);
      message.stringField = "second";
      for (let i = 0; i < 100; i++)
        codec.shape(ScalarsSchema, create(ScalarsSchema, { stringField: "z".repeat(i * 50) }));
      expect(codec.unshape(ScalarsSchema, codec.unpack(codec.pack(plain)))).toEqual(copy);
    },
  );

  test("packed bytes lie in memory of their own, which may be transferred", () => {
    const first = msgpackCodec.pack(msgpackCodec.shape(NodeSchema, create(NodeSchema, { name: "a" })));
    expect(first.buffer.byteLength).toBe(first.length);
  });
});

describe.each([msgpackCodec, jsonCodec, protoCodec])("a packet in $name", (codec) => {
  const nodes = ["a", "ü", "c".repeat(300)].map((name) => create(NodeSchema, { name }));

  test("holds its messages in order", () => {
    const bytes = codec.packList(nodes.map((node) => codec.shape(NodeSchema, node)));
    expect(codec.unpackList(bytes).map((plain) => codec.unshape(NodeSchema, plain))).toEqual(nodes);
    expect(codec.unpackList(codec.packList([]))).toEqual([]);
  });

  test("is refused when it is cut or when something follows", () => {
    const bytes = codec.packList(nodes.map((node) => codec.shape(NodeSchema, node)));
    expect(() => codec.unpackList(bytes.subarray(0, bytes.length - 1))).toThrow(CodecError);
    expect(() => codec.unpackList(Uint8Array.from([...bytes, 0x85]))).toThrow(CodecError);
  });
});

test("what one codec shaped is refused by another", () => {
  const node = create(NodeSchema);
  expect(() => msgpackCodec.pack(jsonCodec.shape(NodeSchema, node))).toThrow(
    "not shaped by the msgpack codec",
  );
  expect(() => protoCodec.pack(msgpackCodec.shape(NodeSchema, node))).toThrow(
    "not shaped by the protobuf codec",
  );
});

test.each([[[0xff, 0xfe]], [[0x7b]], [[]]])(
  "bytes that are not JSON text are refused without repeating them: %j",
  (bytes) => {
    expect(() => jsonCodec.unshape(NodeSchema, jsonCodec.unpack(Uint8Array.from(bytes)))).toThrow(CodecError);
  },
);

test("an extension whose message lacks a required field is refused as any other input", () => {
  // Found by the fuzzer: protobuf-es keeps extensions packed, and packing refuses it.
  const registry = kitchenRegistry;
  const lacking = map([3, 1], [101, [map()]]);
  expect(refusal(() => createMsgpackCodec({ registry }).unshape(EditionSchema, msgpack(lacking))).path).toBe(
    "codec.v1.Edition.[codec.v1.notes]",
  );
  const inJson = json({ required: 1, "[codec.v1.notes]": [{}] });
  expect(refusal(() => createJsonCodec({ registry }).unshape(EditionSchema, inJson)).path).toBe(
    "codec.v1.Edition.[codec.v1.notes]",
  );
});
