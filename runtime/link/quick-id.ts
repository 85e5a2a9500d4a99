/**
 * What `newId` makes, for who makes tens of thousands in a second: a text that grows by a character at a time, as that
 * one's does, is a chain of as many texts until somebody reads it. A page that only calls does without this one.
 */
import type { Random } from "../base/random.ts";

const idBytes = 16;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/** Of 22 characters, of six bits each. */
const codes = new Array<number>(22).fill(0);

export function quickId(random: Random): string {
  const bytes = random.bytes(idBytes);
  for (let i = 0; i < codes.length; i += 1) {
    const bit = i * 6;
    const at = bit >> 3;
    const two = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    codes[i] = alphabet.charCodeAt((two >> (10 - (bit & 7))) & 63);
  }
  return String.fromCharCode(...codes);
}
