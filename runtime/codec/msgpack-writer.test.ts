import { decode } from "@msgpack/msgpack";
import { expect, test } from "vitest";
import { MsgpackReader } from "./msgpack-reader.ts";
import { MsgpackWriter } from "./msgpack-writer.ts";
import { stringBytes } from "./reading.ts";

const limits = { depthMax: 100, expansionMax: 32 };

function written(write: (writer: MsgpackWriter) => void): Uint8Array {
  const writer = new MsgpackWriter();
  writer.begin();
  write(writer);
  return writer.bytes.slice(writer.start, writer.pos);
}

function readerOf(bytes: Uint8Array): MsgpackReader {
  const reader = new MsgpackReader(limits);
  reader.begin(bytes, 0, bytes.length, 1_000);
  return reader;
}

test.each([
  0,
  127,
  128,
  255,
  256,
  65535,
  65536,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53 - 1,
  -1,
  -32,
  -33,
  -128,
  -129,
  -32768,
  -32769,
  -(2 ** 31),
  -(2 ** 31) - 1,
  -(2 ** 53) + 1,
])("integer %d is read by another library and by ours, also when it is skipped", (value) => {
  const bytes = written((writer) => writer.integer(value));
  expect(decode(bytes)).toBe(value);
  expect(readerOf(bytes).integer()).toBe(value);
  expect(readerOf(bytes).long()).toBe(BigInt(value));
  expect(readerOf(bytes).double()).toBe(value);
  const skipping = readerOf(bytes);
  skipping.skip();
  expect(skipping.pos).toBe(bytes.length);
});

test.each([0, 31, 32, 40, 41, 255, 256, 65535, 65536, 100_000])(
  "text of %d bytes has the shortest head",
  (length) => {
    for (const text of ["a".repeat(length), "ü".repeat(Math.floor(length / 2))]) {
      const bytes = written((writer) => writer.string(text));
      const size = new TextEncoder().encode(text).length;
      expect(bytes.length - size).toBe(size < 32 ? 1 : size < 256 ? 2 : size < 65536 ? 3 : 5);
      expect(decode(bytes)).toBe(text);
      expect(readerOf(bytes).string()).toBe(text);
    }
  },
);

test("half a surrogate pair becomes U+FFFD, as in other protobuf libraries", () => {
  expect(readerOf(written((writer) => writer.string("a\ud800b"))).string()).toBe("a\ufffdb");
});

test.each([0, 15, 16, 300, 65_535, 65_536, 70_000])(
  "a map of %d entries gets its head after its body",
  (length) => {
    const bytes = written((writer) => {
      const opened = writer.openMap();
      for (let i = 0; i < length; i++) {
        writer.integer(i);
        writer.bool(true);
      }
      writer.closeMap(opened, length);
    });
    expect(Object.keys(decode(bytes) as object)).toHaveLength(length);
    expect(readerOf(bytes).mapLength("a map")).toBe(length);
  },
);

test.each([0, 255, 256, 65_535, 65_536])("bytes and arrays of %d", (length) => {
  const binary = new Uint8Array(length).fill(7);
  expect(decode(written((writer) => writer.binary(binary)))).toEqual(binary);
  const array = written((writer) => {
    writer.arrayHead(length);
    for (let i = 0; i < length; i++) writer.integer(1);
  });
  expect(decode(array)).toHaveLength(length);
  expect(readerOf(array).arrayLength()).toBe(length);
});

test("what was written stays when the writer goes on in new chunks", () => {
  const writer = new MsgpackWriter(16);
  const parts: { text: string; bytes: Uint8Array; start: number; end: number }[] = [];
  for (let i = 0; i < 200; i++) {
    const text = String(i).repeat(1 + (i % 37) * 100);
    writer.begin();
    writer.string(text);
    parts.push({ text, bytes: writer.bytes, start: writer.start, end: writer.pos });
  }
  for (const { text, bytes, start, end } of parts) expect(decode(bytes.subarray(start, end))).toBe(text);
});

test("a reader counts what it makes, and says when it is too much", () => {
  const bytes = written((writer) => {
    for (const text of ["a", "b", "c"]) writer.string(text);
  });
  const reader = new MsgpackReader({ depthMax: 1, expansionMax: 1 });
  reader.begin(bytes, 0, bytes.length, 2 * stringBytes);
  expect([reader.string(), reader.string()]).toEqual(["a", "b"]);
  expect(() => reader.string()).toThrow("far more memory");
});
