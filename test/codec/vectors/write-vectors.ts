// Writes msgpack.json from the list below: `npx tsx --conditions=holdfast-source test/codec/vectors/write-vectors.ts`.
// What the bytes mean is told by another msgpack library, so that the file does not only repeat our own view.

import { writeFileSync } from "node:fs";
import {
  create,
  toBinary,
  toJson,
  type DescMessage,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { NullValue } from "@bufbuild/protobuf/wkt";
import { msgpackCodec } from "holdfast/codec";
import { OldSchema } from "../gen/codec/v1/kitchen2_pb.ts";
import * as kitchen from "../gen/codec/v1/kitchen3_pb.ts";
import { treeOf } from "./tree.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

function vector<Desc extends DescMessage>(title: string, desc: Desc, init: MessageInitShape<Desc>) {
  const message = create(desc, init);
  const msgpack = msgpackCodec.pack(msgpackCodec.shape(desc, message));
  return {
    title,
    type: desc.typeName,
    json: jsonOf(desc, message),
    protobuf: hex(toBinary(desc, message)),
    msgpack: hex(msgpack),
    tree: treeOf(msgpack),
  };
}

/** ProtoJSON has no sign of zero in its text, so such values have no entry. */
const jsonOf = (desc: DescMessage, message: Message) =>
  JSON.parse(JSON.stringify(toJson(desc, message))) as unknown;

const {
  ScalarsSchema,
  OptionalsSchema,
  ListsSchema,
  MapsSchema,
  ChoiceSchema,
  NodeSchema,
  WellKnownSchema,
  WideSchema,
} = kitchen;

const vectors = [
  vector("an empty message is an empty map", NodeSchema, {}),
  vector("a string of at most 31 bytes", ScalarsSchema, { stringField: "hello" }),
  vector("a string of 32 bytes", ScalarsSchema, { stringField: "x".repeat(32) }),
  vector("a string counts its bytes, not its characters", ScalarsSchema, { stringField: "grüße 😀" }),
  vector("a string of 256 bytes", ScalarsSchema, { stringField: "y".repeat(256) }),
  ...[
    1, -1, -32, -33, 127, 128, 255, 256, 65535, 65536, 2147483647, -128, -129, -32768, -32769, -2147483648,
  ].map((int32Field) => vector(`int32 ${int32Field}`, ScalarsSchema, { int32Field })),
  vector("uint32 at its limit", ScalarsSchema, { uint32Field: 4294967295, fixed32Field: 2147483648 }),
  ...[2n ** 32n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 31n) - 1n, -(2n ** 63n)].map(
    (int64Field) => vector(`int64 ${int64Field}`, ScalarsSchema, { int64Field }),
  ),
  vector("uint64 at its limit", ScalarsSchema, { uint64Field: 2n ** 64n - 1n }),
  vector("jstype has no influence", ScalarsSchema, {
    textLong: "-9223372036854775808",
    textUlong: "18446744073709551615",
  }),
  vector("a large field number", ScalarsSchema, { customName: "n" }),
  ...[1, -1.5, 0.1, 1e300, 5e-324, Infinity, -Infinity, NaN, -0, 2147483647, 2147483648, 16777217].map(
    (doubleField) =>
      vector(`double ${Object.is(doubleField, -0) ? "-0" : doubleField}`, ScalarsSchema, { doubleField }),
  ),
  ...[1, 0.5, Math.fround(0.1), 3.4028234663852886e38, NaN, -0, 32767, 32768].map((floatField) =>
    vector(`float ${Object.is(floatField, -0) ? "-0" : floatField}`, ScalarsSchema, { floatField }),
  ),
  vector("bool and bytes", ScalarsSchema, { boolField: true, bytesField: new Uint8Array([0, 1, 255]) }),
  vector("an enum is its number, known or not", ListsSchema, { colors: [0, 200, -1, 77 as never] }),
  vector("optional fields that are set to their default are sent", OptionalsSchema, {
    int32Field: 0,
    stringField: "",
    boolField: false,
    messageField: {},
  }),
  vector("lists are arrays, packed or not", ListsSchema, {
    int32s: [0, 1, -1],
    uint32s: [300],
    strings: ["", "a"],
    messages: [{}, { int32Field: 5 }],
  }),
  vector("a list of 16 elements", ListsSchema, { bools: Array.from({ length: 16 }, (_, i) => i % 2 === 0) }),
  vector("maps are maps with keys of their own type", MapsSchema, {
    byString: { a: 1 },
    byInt32: { [-1]: "minus" },
    byInt64: { "9223372036854775807": "max" },
    byUint64: { "18446744073709551615": new Uint8Array([1]) },
    byBool: { true: "yes", false: "no" },
  }),
  vector("a map of messages", MapsSchema, { nodes: { n: { name: "x" } } }),
  vector("a oneof is the field that is set, default or not", ChoiceSchema, {
    before: "b",
    kind: { case: "int32Case", value: 0 },
  }),
  vector("a oneof with a message, and another oneof", ChoiceSchema, {
    kind: { case: "messageCase", value: {} },
    other: { case: "left", value: "" },
  }),
  vector("a recursive message", NodeSchema, {
    name: "a",
    next: { name: "b" },
    children: [{}, { name: "c" }],
  }),
  vector("more than 15 fields", WideSchema, sixteenFields()),
  vector("well-known types are messages like others", WellKnownSchema, {
    timestamp: { seconds: 1764500000n, nanos: 5 },
    duration: { seconds: -1n, nanos: -500_000_000 },
    int32Value: 0,
    stringValue: "s",
    struct: { a: [null, 1.5, true, { b: "c" }] },
    value: { kind: { case: "nullValue", value: NullValue.NULL_VALUE } },
    mask: { paths: ["a.b"] },
    empty: {},
  }),
  anyVector(),
  vector("proto2: presence, closed enums, groups", OldSchema, {
    count: 0,
    closed: 1,
    group: { a: 1, inner: [{ b: "x" }] },
    packed: [1, 2],
  }),
];

function sixteenFields() {
  // Not by the init object: it has members of Object.prototype, after which some of these fields are named.
  return Object.assign(
    create(WideSchema),
    Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`f${i + 1}`, i + 1])),
  );
}

/** Its JSON needs a registry. */
function anyVector() {
  const message = create(WellKnownSchema, {
    any: { typeUrl: "type.googleapis.com/codec.v1.Node", value: new Uint8Array([0x0a, 1, 0x61]) },
  });
  const msgpack = msgpackCodec.pack(msgpackCodec.shape(WellKnownSchema, message));
  return {
    title: "Any holds protobuf bytes",
    type: WellKnownSchema.typeName,
    json: { any: { "@type": "type.googleapis.com/codec.v1.Node", name: "a" } },
    protobuf: hex(toBinary(WellKnownSchema, message)),
    msgpack: hex(msgpack),
    tree: treeOf(msgpack),
  };
}
writeFileSync(new URL("msgpack.json", import.meta.url), `${JSON.stringify({ vectors }, undefined, 2)}\n`);
