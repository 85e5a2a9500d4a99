import { expect, test } from "vitest";
import { isAscii, readAscii } from "./ascii.ts";

const around = 3;

/** Different characters in a row of `length`, with others before and behind. */
function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length: length + 2 * around }, (_, i) => (i * 37 + 1) & 0x7f);
}

test("text of every length is what the platform makes of it", () => {
  for (let length = 0; length <= 100; length++) {
    const bytes = bytesOf(length);
    const expected = new TextDecoder().decode(bytes.subarray(around, around + length));
    expect(readAscii(bytes, around, around + length)).toBe(expected);
    // At the end of the memory, too.
    const last = bytes.slice(0, around + length);
    expect(readAscii(last, around, last.length)).toBe(expected);
  }
});

test("one byte that is not ASCII is seen wherever it is, and none outside", () => {
  const bytes = bytesOf(20);
  bytes[around - 1] = 0x80;
  bytes[around + 20] = 0xff;
  expect(isAscii(bytes, around, around + 20)).toBe(true);
  for (let at = 0; at < 20; at++) {
    const one = bytes.slice();
    one[around + at] = 0x80;
    expect(isAscii(one, around, around + 20)).toBe(false);
  }
});
