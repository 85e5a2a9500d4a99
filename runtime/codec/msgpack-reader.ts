import { copyOf } from "./byte-copy.ts";
import { CodecError } from "./codec-error.ts";
import { KeyCache } from "./key-cache.ts";
import { formatText } from "./msgpack-format.ts";
import { binaryBytes, longBytes, Reading, stringBytes } from "./reading.ts";
import { readText } from "./text.ts";

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);
const twoTo32 = 0x1_0000_0000;

/**
 * Reads msgpack that a hostile peer may have made. Nothing is allocated on the word of a length before the
 * bytes for it are seen to be there, and what a message may make in all is counted.
 */
export class MsgpackReader extends Reading {
  readonly #keys = new KeyCache();

  /** The format byte of the next value. */
  #format(): number {
    if (this.pos >= this.end) throw this.#truncated();
    return this.bytes[this.pos++] ?? 0;
  }

  #truncated(): CodecError {
    return new CodecError("the bytes end before the message does");
  }

  /** The value at hand is of another kind; `pos` is behind its format byte. */
  #expected(what: string, format: number): CodecError {
    return new CodecError(`expected ${what}, got ${formatText(format)}`);
  }

  /** An unsigned number of `count` bytes. */
  #unsigned(count: number): number {
    const { bytes, pos } = this;
    if (pos + count > this.end) throw this.#truncated();
    this.pos = pos + count;
    switch (count) {
      case 1:
        return bytes[pos] ?? 0;
      case 2:
        return ((bytes[pos] ?? 0) << 8) | (bytes[pos + 1] ?? 0);
      default:
        return (
          (((bytes[pos] ?? 0) << 24) |
            ((bytes[pos + 1] ?? 0) << 16) |
            ((bytes[pos + 2] ?? 0) << 8) |
            (bytes[pos + 3] ?? 0)) >>>
          0
        );
    }
  }

  bool(): boolean {
    const format = this.#format();
    if (format === 0xc3) return true;
    if (format === 0xc2) return false;
    throw this.#expected("true or false", format);
  }

  /**
   * An integer, as a number: exact to 2^53, beyond that near, which is enough to find it out of a 32-bit
   * field's range.
   */
  integer(): number {
    const format = this.#format();
    if (format < 0x80) return format;
    if (format >= 0xe0) return format - 0x100;
    return this.#longInteger(format);
  }

  #longInteger(format: number): number {
    switch (format) {
      case 0xcc:
        return this.#unsigned(1);
      case 0xcd:
        return this.#unsigned(2);
      case 0xce:
        return this.#unsigned(4);
      case 0xcf:
        return this.#unsigned(4) * twoTo32 + this.#unsigned(4);
      case 0xd0:
        return (this.#unsigned(1) << 24) >> 24;
      case 0xd1:
        return (this.#unsigned(2) << 16) >> 16;
      case 0xd2:
        return this.#unsigned(4) | 0;
      case 0xd3:
        return (this.#unsigned(4) | 0) * twoTo32 + this.#unsigned(4);
      default:
        throw this.#expected("an integer", format);
    }
  }

  /** An integer of any size that msgpack has, exact. */
  long(): bigint {
    this.charge(longBytes);
    const start = this.pos;
    const near = this.integer();
    if (Number.isSafeInteger(near)) return BigInt(near);
    const signed = this.bytes[start] === 0xd3;
    this.#scratch(8, start + 1);
    return signed ? scratch.getBigInt64(0) : scratch.getBigUint64(0);
  }

  /** A number of any format. A 64-bit integer becomes the nearest double. */
  double(): number {
    const format = this.#format();
    if (format === 0xcb) {
      this.#take(8);
      return oneNaN(scratch.getFloat64(0));
    }
    if (format === 0xca) {
      this.#take(4);
      return oneNaN(scratch.getFloat32(0));
    }
    if (format < 0x80) return format;
    if (format >= 0xe0) return format - 0x100;
    if (format >= 0xcc && format <= 0xd3) return this.#longInteger(format);
    throw this.#expected("a number", format);
  }

  #take(count: number): void {
    if (this.pos + count > this.end) throw this.#truncated();
    this.#scratch(count, this.pos);
    this.pos += count;
  }

  #scratch(count: number, at: number): void {
    for (let i = 0; i < count; i++) scratchBytes[i] = this.bytes[at + i] ?? 0;
  }

  string(): string {
    const start = this.#passText();
    return checkedText(readText(this.bytes, start, this.pos));
  }

  /** A string that is a map's key. */
  key(): string {
    const start = this.#passText();
    return checkedText(this.#keys.read(this.bytes, start, this.pos));
  }

  /** Passes over a string and returns where its text started. */
  #passText(): number {
    this.charge(stringBytes);
    const format = this.#format();
    let length: number;
    if (format >= 0xa0 && format <= 0xbf) length = format & 0x1f;
    else if (format === 0xd9) length = this.#unsigned(1);
    else if (format === 0xda) length = this.#unsigned(2);
    else if (format === 0xdb) length = this.#unsigned(4);
    else throw this.#expected("a string", format);
    return this.#pass(length);
  }

  /** A copy, so that the message does not change when the buffer is used again. */
  binary(): Uint8Array {
    this.charge(binaryBytes);
    const format = this.#format();
    let length: number;
    if (format === 0xc4) length = this.#unsigned(1);
    else if (format === 0xc5) length = this.#unsigned(2);
    else if (format === 0xc6) length = this.#unsigned(4);
    else throw this.#expected("bytes", format);
    const start = this.#pass(length);
    return copyOf(this.bytes, start, this.pos);
  }

  /** Passes over `length` bytes and returns where they started. */
  #pass(length: number): number {
    const start = this.pos;
    if (length > this.end - start) throw this.#beyond(length);
    this.pos = start + length;
    return start;
  }

  #beyond(count: number): CodecError {
    return new CodecError(`a length of ${count} is given, but only ${this.end - this.pos} bytes are left`);
  }

  arrayLength(): number {
    const format = this.#format();
    let length: number;
    if (format >= 0x90 && format <= 0x9f) length = format & 0x0f;
    else if (format === 0xdc) length = this.#unsigned(2);
    else if (format === 0xdd) length = this.#unsigned(4);
    else throw this.#expected("an array", format);
    // Each element takes at least a byte.
    if (length > this.end - this.pos) throw this.#beyond(length);
    return length;
  }

  /** The number of entries; `what` says whose map it is, for the error. */
  mapLength(what: string): number {
    const format = this.#format();
    let length: number;
    if (format >= 0x80 && format <= 0x8f) length = format & 0x0f;
    else if (format === 0xde) length = this.#unsigned(2);
    else if (format === 0xdf) length = this.#unsigned(4);
    else throw this.#expected(what, format);
    if (length * 2 > this.end - this.pos) throw this.#beyond(length * 2);
    return length;
  }

  /** A field number as the key of a message. */
  fieldNumber(): number {
    const format = this.#format();
    if (format < 0x80) return format;
    if (format >= 0xcc && format <= 0xd3) return this.#longInteger(format);
    if (format >= 0xe0) return format - 0x100;
    throw this.#expected("a field number as key", format);
  }

  /** Passes over two bytes if it is these that come next. */
  startsWith(first: number, second: number): boolean {
    const { bytes, pos } = this;
    if (pos + 2 > this.end || bytes[pos] !== first || bytes[pos + 1] !== second) return false;
    this.pos = pos + 2;
    return true;
  }

  /** Passes over one value of any kind without making anything of it; nesting takes no stack. */
  skip(): void {
    for (let todo = 1; todo > 0; todo--) todo += this.#skipHead();
  }

  /** Passes over one value and returns how many values lie in it. */
  #skipHead(): number {
    const format = this.#format();
    if (format < 0x80 || format >= 0xe0) return 0;
    if (format >= 0xa0 && format <= 0xbf) {
      this.#pass(format & 0x1f);
      return 0;
    }
    if (format <= 0x9f || format >= 0xdc) {
      this.pos--;
      return format <= 0x8f || format >= 0xde ? this.mapLength("a map") * 2 : this.arrayLength();
    }
    return this.#skipLeaf(format);
  }

  #skipLeaf(format: number): number {
    switch (format) {
      case 0xc0:
      case 0xc2:
      case 0xc3:
        return 0;
      case 0xc4:
      case 0xd9:
        this.#pass(this.#unsigned(1));
        return 0;
      case 0xc5:
      case 0xda:
        this.#pass(this.#unsigned(2));
        return 0;
      case 0xc6:
      case 0xdb:
        this.#pass(this.#unsigned(4));
        return 0;
      case 0xca:
        this.#pass(4);
        return 0;
      case 0xcb:
        this.#pass(8);
        return 0;
      default:
        if (format < 0xcc || format > 0xd3) throw this.#expected("a value", format);
        this.#pass(1 << (format & 3));
        return 0;
    }
  }
}

function checkedText(text: string | undefined): string {
  if (text === undefined) throw new CodecError("the string is not valid UTF-8");
  return text;
}

/** NaN has many bit patterns, which some engines keep; programs shall see one. */
function oneNaN(value: number): number {
  return Number.isNaN(value) ? Number.NaN : value;
}
