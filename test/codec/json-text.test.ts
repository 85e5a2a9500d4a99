/** The JSON reader is our own, so what it takes is held against what `JSON.parse` takes. */
import { create } from "@bufbuild/protobuf";
import { CodecError, createJsonCodec, jsonCodec, openSlot } from "holdfast/codec";
import { expect, test } from "vitest";
import { Chance } from "./chance.ts";
import { NodeSchema, ScalarsSchema, WellKnownSchema } from "./gen/codec/v1/kitchen3_pb.ts";
import { EnvelopeSchema, SlotSchema } from "./gen/slots/v1/slots_pb.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const slots = createJsonCodec({ slotTypeNames: ["slots.v1.Slot"] });

const good = [
  "0",
  "-0",
  "1",
  "-1",
  "0.5",
  "-12.75",
  "1e3",
  "1E+3",
  "1e-3",
  "0e0",
  "123456789012345",
  "1234567890123456",
  "9007199254740993",
  "0.1",
  "1.7976931348623157e308",
  "5e-324",
  "true",
  "false",
  "null",
  '""',
  '"a"',
  '"\\u00fc\\n\\"\\\\\\/"',
  '"ü€😀"',
  '"\\ud83d\\ude00"',
  '"\\ud800"',
  '"\\u0000"',
  `"${"long ".repeat(20)}"`,
  "\u007f".replace(/.*/s, '"\u007f"'),
  "[]",
  "{}",
  "[ ]",
  "{ }",
  "[1,[2,[3,[]]],{}]",
  '{"a":1,"b":[{}],"a":2}',
  ' \t\r\n[ 1 , { "a" : "b" , "c" : [ ] } ] \n',
  '{"__proto__":1}',
];

const bad = [
  "",
  " ",
  "-",
  "+1",
  "01",
  "-01",
  "1.",
  ".5",
  "1e",
  "1e+",
  "0x1",
  "1_0",
  "NaN",
  "Infinity",
  "tru",
  "truE",
  "nul",
  "undefined",
  '"',
  '"a',
  '"a\\"',
  '"\\x"',
  '"\\u12g4"',
  '"\n"',
  '"\u0000"',
  "'a'",
  "[",
  "]",
  "[1",
  "[1,",
  "[1,]",
  "[,1]",
  "[1 2]",
  "[1}",
  "{",
  "}",
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a":1,}',
  "{a:1}",
  "{1:1}",
  '{"a" 1}',
  '{"a":1]',
  '{"a":1 "b":2}',
  "1 1",
  "[] []",
  "{}x",
  "1\u00a0",
  "\ufeff1",
  "/**/1",
  "\u00001",
];

/** What the reader makes of a text as a field of any JSON, in a field that is skipped, and as a slot's content. */
function ways(text: string): (() => unknown)[] {
  const inValue = encoder.encode(`{"value":${text}}`);
  const inUnknown = encoder.encode(`{"unknown":${text}}`);
  const inSlot = encoder.encode(`{"request":${text}}`);
  return [
    () => jsonCodec.unshape(WellKnownSchema, jsonCodec.unpack(inValue)),
    () => jsonCodec.unshape(NodeSchema, jsonCodec.unpack(inUnknown)),
    () => slots.unshape(EnvelopeSchema, slots.unpack(inSlot)),
    () => jsonCodec.unpackList(encoder.encode(`[${text}]`)),
  ];
}

function taken(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof CodecError) return false;
    throw error;
  }
}

test.each(good)("takes %s, and keeps it in a slot to the byte", (text) => {
  for (const way of ways(text)) expect(way).not.toThrow();
  const { request } = slots.unshape(EnvelopeSchema, slots.unpack(encoder.encode(`{"request":${text}}`)));
  if (text === "null") expect(request).toBeUndefined();
  else
    expect(decoder.decode(slots.pack(openSlot(SlotSchema, request ?? create(SlotSchema))))).toBe(text.trim());
});

test.each(bad)("refuses %j wherever it stands", (text) => {
  for (const way of ways(text).slice(0, 3)) expect(way).toThrow(CodecError);
  if (text.trim() !== "") expect(ways(text)[3]).toThrow(CodecError);
});

test("takes and refuses what JSON.parse does, whatever is changed in a text", () => {
  const chance = new Chance(11);
  const bytes = good.map((text) => encoder.encode(text));
  for (let run = 0; run < 20_000; run++) {
    const input = Uint8Array.from([...chance.of(bytes), ...(run % 3 === 0 ? chance.of(bytes) : [])]);
    for (let changes = chance.below(3); changes > 0; changes--) {
      input[chance.below(input.length)] = chance.of([
        ...encoder.encode('{}[]",:\\u0e1.-+ tnf\n'),
        0x80,
        0xc3,
      ]);
    }
    const packet = Uint8Array.from([0x5b, ...input, 0x5d]);
    const parsed = taken(() => parsedStrictly(packet));
    expect(
      taken(() => jsonCodec.unpackList(packet)),
      Buffer.from(packet).toString("hex"),
    ).toBe(parsed);
  }
});

function parsedStrictly(bytes: Uint8Array): void {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new CodecError("not JSON");
  }
}

test("finds fields in any order, with space around them and under both names", () => {
  const text = ' {\n"stringField" : "x" , "int32_field":\t7,"boolField":true,"doubleField":1.5e0 } ';
  expect(jsonCodec.unshape(ScalarsSchema, jsonCodec.unpack(encoder.encode(text)))).toEqual(
    create(ScalarsSchema, { stringField: "x", int32Field: 7, boolField: true, doubleField: 1.5 }),
  );
});

test("refuses a key twice, where JSON.parse would keep the last", () => {
  const text = '{"stringField":"a","stringField":"b"}';
  expect(() => jsonCodec.unshape(ScalarsSchema, jsonCodec.unpack(encoder.encode(text)))).toThrow(
    "codec.v1.Scalars.string_field: the field, or another of its oneof, came before",
  );
});

test("skips what is nested deep without using the stack, but not without an end", () => {
  const nested = (levels: number) => `{"unknown":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const read = (text: string) => jsonCodec.unshape(NodeSchema, jsonCodec.unpack(encoder.encode(text)));
  expect(read(nested(10_001))).toEqual(create(NodeSchema));
  expect(() => read(nested(10_002))).toThrow("nested too deep");
});

test("an error says where the text ends to be JSON, and repeats nothing of it", () => {
  const text = '{"name":"secret" oops}';
  expect(() => jsonCodec.unshape(NodeSchema, jsonCodec.unpack(encoder.encode(text)))).toThrow(
    /^codec\.v1\.Node\.name: the text is not JSON from byte 17 on$/,
  );
});
