import { ByteWriter } from "./byte-writer.ts";
import { isShortText, textBytesMax, writeAscii, writeText } from "./text.ts";

/** The largest value that a 64-bit number is written from by halves without loss. */
const twoTo32 = 0x1_0000_0000;

// Floating point values are turned into bytes here, in the byte order of msgpack whatever the machine's is.
const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

/** Writes msgpack, always in the shortest format for a value. */
export class MsgpackWriter extends ByteWriter {
  bool(value: boolean): void {
    this.need(1);
    this.bytes[this.pos++] = value ? 0xc3 : 0xc2;
  }

  /** A field's number as a key; most are a single byte. */
  fieldNumber(number: number): void {
    if (number >= 0x80) {
      this.integer(number);
      return;
    }
    this.need(1);
    this.bytes[this.pos++] = number;
  }

  /** Any integer from -2^53 to 2^53. */
  integer(value: number): void {
    if (value < 0) {
      this.#negative(value);
      return;
    }
    this.need(9);
    const { bytes } = this;
    if (value < 0x80) {
      bytes[this.pos++] = value;
    } else if (value < 0x100) {
      bytes[this.pos++] = 0xcc;
      bytes[this.pos++] = value;
    } else if (value < 0x1_0000) {
      bytes[this.pos++] = 0xcd;
      bytes[this.pos++] = value >> 8;
      bytes[this.pos++] = value;
    } else if (value < twoTo32) {
      bytes[this.pos++] = 0xce;
      this.#word(value);
    } else {
      bytes[this.pos++] = 0xcf;
      this.#word(Math.floor(value / twoTo32));
      this.#word(value >>> 0);
    }
  }

  #negative(value: number): void {
    this.need(9);
    const { bytes } = this;
    if (value >= -0x20) {
      bytes[this.pos++] = value;
    } else if (value >= -0x80) {
      bytes[this.pos++] = 0xd0;
      bytes[this.pos++] = value;
    } else if (value >= -0x8000) {
      bytes[this.pos++] = 0xd1;
      bytes[this.pos++] = value >> 8;
      bytes[this.pos++] = value;
    } else if (value >= -0x8000_0000) {
      bytes[this.pos++] = 0xd2;
      this.#word(value);
    } else {
      bytes[this.pos++] = 0xd3;
      this.#word(Math.floor(value / twoTo32));
      this.#word(value >>> 0);
    }
  }

  /** Four bytes, the most significant first. */
  #word(value: number): void {
    const { bytes, pos } = this;
    bytes[pos] = value >>> 24;
    bytes[pos + 1] = value >>> 16;
    bytes[pos + 2] = value >>> 8;
    bytes[pos + 3] = value;
    this.pos = pos + 4;
  }

  /** Any integer from -2^63 to 2^64-1; the caller has checked the range. */
  long(value: bigint): void {
    const near = Number(value);
    if (Number.isSafeInteger(near)) {
      this.integer(near);
      return;
    }
    this.need(9);
    this.bytes[this.pos++] = value < 0n ? 0xd3 : 0xcf;
    scratch.setBigInt64(0, BigInt.asIntN(64, value));
    this.#scratched(8);
  }

  float(value: number): void {
    this.need(5);
    this.bytes[this.pos++] = 0xca;
    scratch.setFloat32(0, value);
    this.#scratched(4);
  }

  double(value: number): void {
    this.need(9);
    this.bytes[this.pos++] = 0xcb;
    scratch.setFloat64(0, value);
    this.#scratched(8);
  }

  #scratched(count: number): void {
    for (let i = 0; i < count; i++) this.bytes[this.pos + i] = scratchBytes[i] ?? 0;
    this.pos += count;
  }

  string(text: string): void {
    if (isShortText(text)) {
      const headBytes = text.length < 0x20 ? 1 : 2;
      this.need(headBytes + text.length);
      if (writeAscii(text, this.bytes, this.pos + headBytes)) {
        this.#textHead(text.length);
        this.pos += text.length;
        return;
      }
    }
    this.#longString(text);
  }

  /** Text whose length in bytes is known only when it is written. */
  #longString(text: string): void {
    const bytesMax = textBytesMax(text);
    this.need(5 + bytesMax);
    const headBytes = textHeadBytes(text.length);
    const at = this.pos + headBytes;
    const length = writeText(text, this.bytes, at);
    const headBytesReal = textHeadBytes(length);
    if (headBytesReal !== headBytes) this.bytes.copyWithin(this.pos + headBytesReal, at, at + length);
    this.#textHead(length);
    this.pos += length;
  }

  #textHead(length: number): void {
    if (length < 0x20) this.bytes[this.pos++] = 0xa0 | length;
    else this.#head(length, 0xd9, 0xda, 0xdb);
  }

  binary(value: Uint8Array): void {
    this.need(5 + value.length);
    this.#head(value.length, 0xc4, 0xc5, 0xc6);
    this.raw(value, 0, value.length);
  }

  arrayHead(length: number): void {
    this.need(5);
    if (length < 0x10) this.bytes[this.pos++] = 0x90 | length;
    else this.#head(length, 0, 0xdc, 0xdd);
  }

  mapHead(length: number): void {
    this.need(5);
    if (length < 0x10) this.bytes[this.pos++] = 0x80 | length;
    else this.#head(length, 0, 0xde, 0xdf);
  }

  /** A length in 1, 2 or 4 bytes behind its format byte; format8 is 0 where msgpack has none. */
  #head(length: number, format8: number, format16: number, format32: number): void {
    const { bytes } = this;
    if (length < 0x100 && format8 !== 0) {
      bytes[this.pos++] = format8;
      bytes[this.pos++] = length;
    } else if (length < 0x1_0000) {
      bytes[this.pos++] = format16;
      bytes[this.pos++] = length >> 8;
      bytes[this.pos++] = length;
    } else {
      bytes[this.pos++] = format32;
      this.#word(length);
    }
  }

  /** Leaves a byte for the head of a map whose length is not known yet; returns what `closeMap` needs. */
  openMap(): number {
    this.need(1);
    return this.pos++ - this.start;
  }

  /** Writes the head of a map, making room if it takes more than the byte that was left. */
  closeMap(opened: number, length: number): void {
    if (length < 0x10) {
      this.bytes[this.start + opened] = 0x80 | length;
      return;
    }
    this.need(4);
    const body = this.start + opened + 1;
    const end = this.pos;
    const moved = length < 0x1_0000 ? 2 : 4;
    this.bytes.copyWithin(body + moved, body, end);
    this.pos = body - 1;
    this.mapHead(length);
    this.pos = end + moved;
  }
}

function textHeadBytes(length: number): number {
  if (length < 0x20) return 1;
  if (length < 0x100) return 2;
  return length < 0x1_0000 ? 3 : 5;
}
