/** Below this a loop is cheaper than the call of `slice`. */
const loopBytesMax = 24;

/**
 * A part of `bytes` in memory of its own, as a plain Uint8Array: `slice` of a Node Buffer would be a Buffer, and
 * by its own method even a view.
 */
export function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array<ArrayBuffer> {
  const length = end - start;
  if (length > loopBytesMax && bytes.constructor === Uint8Array) return bytes.slice(start, end);
  const copy = new Uint8Array(length);
  if (length <= loopBytesMax) for (let i = 0; i < length; i++) copy[i] = bytes[start + i] ?? 0;
  else copy.set(bytes.subarray(start, end));
  return copy;
}
