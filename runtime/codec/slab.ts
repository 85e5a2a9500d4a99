import { copyOf } from "./byte-copy.ts";

/** How much memory small copies share. What is kept of one of them keeps this much alive. */
const slabBytes = 8 * 1024;

const smallBytesMax = 512;

/**
 * Copies of small parts of buffers, many in one piece of memory: a piece of its own for each costs more than all
 * else that reading a slot takes.
 */
export class Slab {
  #bytes = new Uint8Array(0);
  #used = 0;

  /** Copies a part of `bytes`; `made` gets the memory that the copy lies in, and where. */
  copy<T>(
    bytes: Uint8Array,
    start: number,
    end: number,
    made: (bytes: Uint8Array, start: number, end: number) => T,
  ): T {
    const length = end - start;
    if (length > smallBytesMax) return made(copyOf(bytes, start, end), 0, length);
    if (this.#used + length > this.#bytes.length) {
      this.#bytes = new Uint8Array(slabBytes);
      this.#used = 0;
    }
    const slab = this.#bytes;
    const at = this.#used;
    for (let i = 0; i < length; i++) slab[at + i] = bytes[start + i] ?? 0;
    this.#used = at + length;
    return made(slab, at, this.#used);
  }
}
