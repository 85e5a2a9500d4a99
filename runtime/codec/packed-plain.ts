import { copyOf } from "./byte-copy.ts";
import type { Plain } from "./codec.ts";

/**
 * A message in a codec's own format: a part of a buffer, of one's own or of what was received. Each codec has a
 * class of its own, by which it knows what it shaped.
 */
export class PackedPlain {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** What reading it may make beyond the multiple of its length; see `reading-limit.ts`. */
  readonly headroomBytes: number;

  constructor(bytes: Uint8Array, start: number, end: number, headroomBytes: number) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.headroomBytes = headroomBytes;
  }

  /** To the outside it is opaque. */
  get plain(): Plain {
    return this as unknown as Plain;
  }

  /** Its bytes in memory of their own. */
  copied(): Uint8Array {
    return copyOf(this.bytes, this.start, this.end);
  }
}
