import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { jsonCodec, msgpackCodec, type Codec } from "holdfast/codec";
import { describe, expect, test } from "vitest";
import { ListsSchema, NodeSchema, ScalarsSchema } from "./gen/codec/v1/kitchen3_pb.ts";

test("no message takes more memory than the limits say, whatever it is made of", { timeout: 60_000 }, () => {
  const program = fileURLToPath(new URL("memory-program.ts", import.meta.url));
  const flags = ["--expose-gc", "--conditions=holdfast-source", "--import", "tsx"];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, program], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^memory: ok/);
});

describe.each([msgpackCodec, jsonCodec])("in $name", (codec: Codec) => {
  test("25,000 empty messages of many members are taken, and plain data of any size", () => {
    const messages = Array.from({ length: 25_000 }, () => create(ScalarsSchema));
    const strings = Array.from({ length: 200_000 }, (_, i) => `s${i}`);
    const int64s = Array.from({ length: 200_000 }, (_, i) => BigInt(i & 1));
    const doubles = Array.from({ length: 200_000 }, () => 0);
    const lists = create(ListsSchema, { messages, strings, int64s, doubles });
    const read = codec.unshape(ListsSchema, codec.unpack(codec.pack(codec.shape(ListsSchema, lists))));
    expect(read.messages).toHaveLength(25_000);
    expect(read.int64s).toHaveLength(200_000);
  });

  test("the messages of a packet share what a single one may take beyond its size", () => {
    const messages = Array.from({ length: 2_000 }, () => create(ScalarsSchema));
    const plain = codec.shape(ListsSchema, create(ListsSchema, { messages }));
    const packet = (count: number) =>
      codec.unpackList(codec.packList(Array.from({ length: count }, () => plain)));
    for (const one of packet(10)) expect(codec.unshape(ListsSchema, one).messages).toHaveLength(2_000);
    for (const one of packet(100)) expect(() => codec.unshape(ListsSchema, one)).toThrow("far more memory");
  });
});

test("a packet of nothing but empty messages is counted too", () => {
  const plain = msgpackCodec.shape(NodeSchema, create(NodeSchema));
  const bytes = msgpackCodec.packList(Array.from({ length: 400_000 }, () => plain));
  expect(() => msgpackCodec.unpackList(bytes)).toThrow("far more memory");
});
