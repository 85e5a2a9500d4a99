// Run by memory.test.ts in a process of its own: how much memory hostile messages take, against what the limits say.

import type { DescMessage } from "@bufbuild/protobuf";
import { CodecError, createJsonCodec, createMsgpackCodec, type Codec } from "holdfast/codec";
import { KitchenSinkSchema, ListsSchema, MapsSchema, WellKnownSchema } from "./gen/codec/v1/kitchen3_pb.ts";

const collect = globalThis.gc;
if (collect === undefined) throw new Error("run with --expose-gc");

const headroomBytes = 2 * 1024 * 1024;
const expansionMax = 32;
const countMax = 120_000;
const msgpack = createMsgpackCodec({ headroomBytes });
const json = createJsonCodec({ headroomBytes });

/** A message that holds `count` times something that is small in its bytes. */
interface Attack {
  readonly name: string;
  readonly codec: Codec;
  readonly desc: DescMessage;
  readonly input: (count: number) => Uint8Array;
}

const list = (count: number): number[] => [0xdd, count >>> 24, count >> 16, count >> 8, count];
const map = (count: number): number[] => [0xdf, count >>> 24, count >> 16, count >> 8, count];
const word = (value: number): number[] => [0xce, value >>> 24, value >> 16, value >> 8, value];

function packed(
  name: string,
  desc: DescMessage,
  head: (count: number) => number[],
  item: (i: number) => number[],
): Attack {
  const input = (count: number): Uint8Array => {
    const bytes = head(count);
    for (let i = 0; i < count; i++) bytes.push(...item(i));
    return Uint8Array.from(bytes);
  };
  return { name: `msgpack ${name}`, codec: msgpack, desc, input };
}

function text(
  name: string,
  desc: DescMessage,
  head: string,
  item: (i: number) => string,
  tail: string,
): Attack {
  const input = (count: number): Uint8Array =>
    Buffer.from(head + Array.from({ length: count }, (_, i) => item(i)).join(",") + tail);
  return { name: `JSON ${name}`, codec: json, desc, input };
}

const inList = (number: number) => (count: number) => [0x81, number, ...list(count)];
const inMap = (number: number) => (count: number) => [0x81, number, ...map(count)];
const letters = (i: number): number[] => [97 + (i % 26), 97 + ((i / 26) % 26), 97 + ((i / 676) % 26)];

const attacks: readonly Attack[] = [
  packed("empty messages", ListsSchema, inList(12), () => [0x80]),
  packed("empty messages in messages", KitchenSinkSchema, inList(9), () => [0x81, 0x04, 0x80]),
  packed("integers", ListsSchema, inList(3), () => [1]),
  packed("floats", ListsSchema, inList(1), (i) => [0xca, 0x3f, 0x80, i, 1]),
  packed("64-bit integers", ListsSchema, inList(4), (i) => [i & 0x7f]),
  packed("64-bit integers as text", ListsSchema, inList(7), (i) => [0xcd, 1 + (i & 0x7f), i & 0xff]),
  packed("strings", ListsSchema, inList(9), (i) => [0xa3, ...letters(i)]),
  packed("strings of two-byte text", ListsSchema, inList(9), (i) => [
    0xa4,
    0xc4,
    0x80 + (i & 63),
    0xc4,
    0x81,
  ]),
  packed("byte fields", ListsSchema, inList(10), () => [0xc4, 0]),
  packed("maps by text", MapsSchema, inMap(1), (i) => [0xa5, ...letters(i), 48 + (i % 10), 48 + (i % 7), 1]),
  packed("maps by number", MapsSchema, inMap(2), (i) => [...word(i * 7919), 0xa0]),
  packed("maps of messages", MapsSchema, inMap(11), (i) => [...word(i * 7919), 0x80]),
  packed(
    "values",
    WellKnownSchema,
    (count) => [0x81, 6, 0x81, 1, ...list(count)],
    () => [0x80],
  ),
  packed("structs", WellKnownSchema, inList(21), () => [0x80]),
  packed("anys", WellKnownSchema, inList(24), () => [0x80]),
  packed("wrappers", WellKnownSchema, inList(19), () => [0x80]),
  text("empty messages", ListsSchema, '{"messages":[', () => "{}", "]}"),
  text("64-bit integers", ListsSchema, '{"int64s":[', (i) => String(i % 10), "]}"),
  text("64-bit integers as text", ListsSchema, '{"textLongs":[', (i) => String(100 + (i % 900)), "]}"),
  text("byte fields", ListsSchema, '{"bytesList":[', () => '""', "]}"),
  text("strings", ListsSchema, '{"strings":[', (i) => `"${i % 900}"`, "]}"),
  text("maps by text", MapsSchema, '{"byString":{', (i) => `"${i}":1`, "}}"),
  text("maps by number", MapsSchema, '{"byInt32":{', (i) => `"${i * 7919}":""`, "}}"),
  text("numbers as values", WellKnownSchema, '{"list":[', () => "1", "]}"),
  text("lists as values", WellKnownSchema, '{"list":[', () => "[]", "]}"),
  text("objects as values", WellKnownSchema, '{"list":[', () => "{}", "]}"),
  text("objects in a struct", WellKnownSchema, '{"struct":{"a":[', () => "{}", "]}}"),
  text("members of a struct", WellKnownSchema, '{"struct":{', (i) => `"${i.toString(36)}":0`, "}}"),
  text("members of a value", WellKnownSchema, '{"value":{', (i) => `"${i.toString(36)}":0`, "}}"),
  text("paths of a mask", WellKnownSchema, '{"mask":"', () => "a", '"}'),
];

function usedBytes(): number {
  collect?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** What reading the input leaves in memory. */
function madeBytes({ codec, desc }: Attack, input: Uint8Array): number {
  const before = usedBytes();
  const message = codec.unshape(desc, codec.unpack(input));
  const made = usedBytes() - before;
  return message.$typeName === desc.typeName ? made : 0;
}

function reads({ codec, desc, input }: Attack, count: number): boolean {
  try {
    codec.unshape(desc, codec.unpack(input(count)));
    return true;
  } catch (error) {
    if (error instanceof CodecError) return false;
    throw error;
  }
}

/** About the largest count that is taken. */
function countTaken(attack: Attack): number {
  let taken = 10;
  let refused = countMax;
  if (reads(attack, countMax)) return countMax;
  if (!reads(attack, taken)) throw new Error(`${attack.name}: ten are refused`);
  while (refused - taken > taken / 20) {
    const between = Math.round((taken + refused) / 2);
    if (reads(attack, between)) taken = between;
    else refused = between;
  }
  return taken;
}

let worst = 0;
for (const attack of attacks) {
  const count = countTaken(attack);
  const input = attack.input(count);
  const made = madeBytes(attack, input);
  const share = made / (headroomBytes + input.length * expansionMax);
  worst = Math.max(worst, share);
  if (process.argv.includes("--table")) {
    const times = (made / input.length).toFixed(0);
    console.log(`${attack.name}: ${count} in ${input.length} bytes, ${times} times, ${share.toFixed(2)}`);
  }
}
console.log(`memory: ${worst < 1.25 ? "ok" : "failed"}, at most ${worst.toFixed(2)} of the limit`);
