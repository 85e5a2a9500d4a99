import { readText } from "./text.ts";

/** A power of two. */
const placeCount = 256;

const cachedBytesMax = 24;

/**
 * Keys of maps and names of enums that came before, by their bytes. Most messages have the same few again and again,
 * and to find a string that V8 has used as a key already takes less time than to make one and to use it. What is found is compared byte by
 * byte, so keys that a peer chose to collide make it slow at worst.
 */
export class KeyCache {
  readonly #keys = new Array<string>(placeCount).fill("");

  /** The text from `start` to `end`; undefined if it is not UTF-8. */
  read(bytes: Uint8Array, start: number, end: number): string | undefined {
    const length = end - start;
    if (length > cachedBytesMax || length === 0) return readText(bytes, start, end);
    const first = bytes[start] ?? 0;
    const last = bytes[end - 1] ?? 0;
    const place = (first * 31 + last * 7 + length) & (placeCount - 1);
    const known = this.#keys[place] ?? "";
    if (isText(known, bytes, start, length)) return known;
    const key = readText(bytes, start, end);
    if (key?.length === length) this.#keys[place] = key;
    return key;
  }
}

/** Whether the bytes are this text, if it is ASCII. */
function isText(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
