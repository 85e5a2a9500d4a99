import type { Chance } from "../codec/chance.ts";

/** Bytes that head something in one of our formats, or stand at a limit. */
const telling = [
  0x00, 0x01, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xa1, 0xbf, 0xc0, 0xc1, 0xc4, 0xc7, 0xca, 0xcb,
  0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd3, 0xd4, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff, 0x22, 0x2c,
  0x5b, 0x5d, 0x7b, 0x7d,
];

const inputBytesMax = 4096;

/** An input made from another, with one to four changes. */
export function mutated(input: Uint8Array, other: Uint8Array, chance: Chance): Uint8Array {
  let bytes = input;
  for (let changes = 1 + chance.below(4); changes > 0; changes--) bytes = changed(bytes, other, chance);
  return bytes.length > inputBytesMax ? bytes.subarray(0, inputBytesMax) : bytes;
}

function changed(input: Uint8Array, other: Uint8Array, chance: Chance): Uint8Array {
  const at = chance.below(input.length + 1);
  const length = chance.below(Math.min(16, input.length - at) + 1);
  switch (chance.below(8)) {
    case 0:
      return withByte(input, at, (input[at] ?? 0) ^ (1 << chance.below(8)));
    case 1:
      return withByte(input, at, chance.below(256));
    case 2:
      return withByte(input, at, chance.of(telling));
    case 3:
      return joined(input.subarray(0, at), Uint8Array.of(chance.of(telling)), input.subarray(at));
    case 4:
      return joined(input.subarray(0, at), input.subarray(at + length));
    case 5:
      return joined(input.subarray(0, at), input.subarray(at, at + length), input.subarray(at));
    case 6:
      return input.subarray(0, at);
    default: {
      const from = chance.below(other.length + 1);
      return joined(
        input.subarray(0, at),
        other.subarray(from, from + 1 + chance.below(64)),
        input.subarray(at),
      );
    }
  }
}

function withByte(input: Uint8Array, at: number, byte: number): Uint8Array {
  const bytes = Uint8Array.from(input);
  if (at < bytes.length) bytes[at] = byte;
  return bytes;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
