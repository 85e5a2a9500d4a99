import { isAscii, readAscii } from "./ascii.ts";

// UTF-8 for the short strings that messages are made of. The platform's encoder and decoder are fast on long
// text, but a call of them costs more than a name or an ID takes in a plain loop.

const encoder = new TextEncoder();
// A leading U+FEFF is text in a protobuf string, not a mark.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Above this length the platform wins (measured in Node 20 on plain ASCII). */
const loopWriteCharsMax = 40;

/** How many bytes `writeText` may need at most. */
export function textBytesMax(text: string): number {
  return text.length * 3;
}

/** Whether the string is short enough that a one-byte msgpack or a plain loop is worth trying first. */
export function isShortText(text: string): boolean {
  return text.length <= loopWriteCharsMax;
}

/** Writes ASCII text at `at`; false as soon as something else comes, and then nothing counts as written. */
export function writeAscii(text: string, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) return false;
    bytes[at + i] = code;
  }
  return true;
}

/**
 * Writes text at `at` and returns how many bytes it took. Half a surrogate pair becomes U+FFFD, as in every
 * protobuf library.
 */
export function writeText(text: string, bytes: Uint8Array, at: number): number {
  return encoder.encodeInto(text, bytes.subarray(at)).written;
}

/** Reads text; undefined if it is not UTF-8. */
export function readText(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (isAscii(bytes, start, end)) return readAscii(bytes, start, end);
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}
