/**
 * How much memory is taken at a time. Messages are written one after the other into one chunk, which costs no
 * allocation for most; a chunk is never written twice, so what was written stays valid.
 */
const chunkBytes = 16 * 1024;

const chunkBytesMax = 256 * 1024;

/** Below this a loop is cheaper than the view that `set` needs. */
const loopBytesMax = 48;

/** Memory that messages are written into; the formats extend it. */
export class ByteWriter {
  bytes: Uint8Array;
  pos = 0;
  /** How many messages deep the writer is; the shaper counts. */
  depth = 0;
  /** Where the message begun last starts in `bytes`; growing moves it. */
  start = 0;
  #chunkBytes = chunkBytes;

  constructor(firstChunkBytes = chunkBytes) {
    this.bytes = new Uint8Array(firstChunkBytes);
  }

  /** Starts a message. */
  begin(): void {
    this.start = this.pos;
    this.depth = 0;
  }

  /** Makes sure that `count` more bytes fit. */
  need(count: number): void {
    if (this.pos + count > this.bytes.length) this.#grow(count);
  }

  /** Goes on in a new chunk and takes along what is written of this message. */
  #grow(count: number): void {
    const written = this.pos - this.start;
    const next = new Uint8Array(Math.max(chunkBytes, (written + count) * 2, this.#chunkBytes));
    // Large messages mostly come in numbers: the next ones shall not each take a chunk of their own.
    this.#chunkBytes = Math.min(chunkBytesMax, next.length * 2);
    next.set(this.bytes.subarray(this.start, this.pos));
    this.bytes = next;
    this.pos = written;
    this.start = 0;
  }

  /** Bytes that are of the format already, or the content of a byte field. */
  raw(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    this.need(length);
    const { pos } = this;
    if (length <= loopBytesMax) {
      const target = this.bytes;
      for (let i = 0; i < length; i++) target[pos + i] = bytes[start + i] ?? 0;
    } else {
      this.bytes.set(bytes.subarray(start, end), pos);
    }
    this.pos = pos + length;
  }
}
