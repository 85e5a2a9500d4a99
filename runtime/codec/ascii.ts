// Strings from bytes that are known to be ASCII. Most of what is in messages is such text, and short: names, IDs,
// keys. `TextDecoder` takes 150 ns to start; what is here takes from 10 to 70 (Node 20).

/** Longer text is quicker by the platform: with Node's own call, or with `TextDecoder`. */
const codesMax = 32;

const decoder = new TextDecoder();

/** One array of char codes for each length, so that a read allocates only the string. */
const codesOfLength = Array.from({ length: codesMax + 1 }, (_, length) => new Array<number>(length).fill(0));

/** How Node makes a string of a part of the bytes that it is called on. */
type Slice = (this: Uint8Array, start: number, end: number) => string;

/** Undefined where there is no Node, as in browsers, or where it does not do what it is wanted for. */
const nodeSlice = nodeSliceOf((globalThis as { Buffer?: { prototype?: { latin1Slice?: unknown } } }).Buffer);

function nodeSliceOf(buffer: { prototype?: { latin1Slice?: unknown } } | undefined): Slice | undefined {
  const slice = buffer?.prototype?.latin1Slice;
  if (typeof slice !== "function") return undefined;
  try {
    return slice.call(Uint8Array.of(0x61, 0x62, 0x63), 1, 2) === "b" ? (slice as Slice) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether all bytes are ASCII. */
export function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0;
  for (let at = start; at < end; at++) bits |= bytes[at] ?? 0;
  return bits <= 0x7f;
}

/** Reads text that is known to be ASCII. */
export function readAscii(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length <= 8) return upTo8(bytes, start, length);
  if (length <= 16) return upTo16(bytes, start, length);
  const codes = codesOfLength[length];
  if (codes === undefined)
    return nodeSlice?.call(bytes, start, end) ?? decoder.decode(bytes.subarray(start, end));
  for (let i = 0; i < length; i++) codes[i] = bytes[start + i] ?? 0;
  return String.fromCharCode.apply(null, codes);
}

// With its arguments written out, `fromCharCode` takes half of what it takes with an array of them.

function upTo8(bytes: Uint8Array, at: number, length: number): string {
  if (length === 0) return "";
  const a = bytes[at] ?? 0;
  if (length === 1) return String.fromCharCode(a);
  const b = bytes[at + 1] ?? 0;
  if (length === 2) return String.fromCharCode(a, b);
  const c = bytes[at + 2] ?? 0;
  if (length === 3) return String.fromCharCode(a, b, c);
  const d = bytes[at + 3] ?? 0;
  if (length === 4) return String.fromCharCode(a, b, c, d);
  const e = bytes[at + 4] ?? 0;
  if (length === 5) return String.fromCharCode(a, b, c, d, e);
  const f = bytes[at + 5] ?? 0;
  if (length === 6) return String.fromCharCode(a, b, c, d, e, f);
  const g = bytes[at + 6] ?? 0;
  if (length === 7) return String.fromCharCode(a, b, c, d, e, f, g);
  return String.fromCharCode(a, b, c, d, e, f, g, bytes[at + 7] ?? 0);
}

function upTo16(bytes: Uint8Array, at: number, length: number): string {
  const a = bytes[at] ?? 0;
  const b = bytes[at + 1] ?? 0;
  const c = bytes[at + 2] ?? 0;
  const d = bytes[at + 3] ?? 0;
  const e = bytes[at + 4] ?? 0;
  const f = bytes[at + 5] ?? 0;
  const g = bytes[at + 6] ?? 0;
  const h = bytes[at + 7] ?? 0;
  const i = bytes[at + 8] ?? 0;
  if (length === 9) return String.fromCharCode(a, b, c, d, e, f, g, h, i);
  const j = bytes[at + 9] ?? 0;
  if (length === 10) return String.fromCharCode(a, b, c, d, e, f, g, h, i, j);
  const k = bytes[at + 10] ?? 0;
  if (length === 11) return String.fromCharCode(a, b, c, d, e, f, g, h, i, j, k);
  const l = bytes[at + 11] ?? 0;
  if (length === 12) return String.fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l);
  const m = bytes[at + 12] ?? 0;
  if (length === 13) return String.fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m);
  const n = bytes[at + 13] ?? 0;
  if (length === 14) return String.fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  const o = bytes[at + 14] ?? 0;
  if (length === 15) return String.fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  return String.fromCharCode(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, bytes[at + 15] ?? 0);
}
