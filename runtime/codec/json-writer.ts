import { ByteWriter } from "./byte-writer.ts";
import { isShortText, textBytesMax, writeText } from "./text.ts";

/** Writes JSON text as UTF-8 bytes, without a tree of values or a string of the whole before it. */
export class JsonWriter extends ByteWriter {
  /** Text that is JSON already and plain ASCII. */
  ascii(text: string): void {
    const { length } = text;
    this.need(length);
    const { bytes, pos } = this;
    for (let i = 0; i < length; i++) bytes[pos + i] = text.charCodeAt(i);
    this.pos = pos + length;
  }

  /** JSON of any kind, such as `JSON.stringify` gives. */
  json(text: string): void {
    this.need(textBytesMax(text));
    this.pos += writeText(text, this.bytes, this.pos);
  }

  /** Bytes that were made once and are written often: a key, an enum's name. */
  literal(literal: Uint8Array): void {
    this.raw(literal, 0, literal.length);
  }

  string(text: string): void {
    if (!isShortText(text) || !this.#plainString(text)) this.json(JSON.stringify(text));
  }

  /** Writes text that needs no escape; false as soon as it does, and then nothing counts as written. */
  #plainString(text: string): boolean {
    const { length } = text;
    this.need(length + 2);
    const { bytes, pos } = this;
    bytes[pos] = quote;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code > 0x7f || code === quote || code === backslash) return false;
      bytes[pos + 1 + i] = code;
    }
    bytes[pos + 1 + length] = quote;
    this.pos = pos + length + 2;
    return true;
  }

  /** A finite number, but -0, as `String` writes it. */
  number(value: number): void {
    const size = value < 0 ? -value : value;
    // Up to 15 digits are told apart by a double, so digits that give the value are the fewest that do.
    const thousandths = Math.round(size * 1000);
    if (thousandths >= 1e15 || thousandths / 1000 !== size) {
      this.ascii(String(value));
      return;
    }
    this.need(20);
    if (value < 0) this.bytes[this.pos++] = minus;
    const whole = Math.floor(size);
    this.#whole(whole);
    if (whole !== size) this.#fraction(thousandths - whole * 1000);
  }

  /** A whole number below 10^15, in parts for which the machine's integers suffice. */
  #whole(value: number): void {
    const high = value < 1e8 ? 0 : Math.floor(value / 1e8);
    if (high > 0) {
      this.#digits(high, digitCount(high));
      this.#digits(value - high * 1e8, 8);
    } else {
      this.#digits(value, digitCount(value));
    }
  }

  /** `count` digits of an integer, with zeros before it. */
  #digits(value: number, count: number): void {
    const { bytes, pos } = this;
    let rest = value | 0;
    for (let at = pos + count - 1; at >= pos; at--) {
      const tenth = (rest / 10) | 0;
      bytes[at] = zero + rest - tenth * 10;
      rest = tenth;
    }
    this.pos = pos + count;
  }

  /** Three digits behind the dot, without zeros at their end. */
  #fraction(thousandths: number): void {
    this.bytes[this.pos++] = dot;
    if (thousandths % 100 === 0) this.#digits(thousandths / 100, 1);
    else if (thousandths % 10 === 0) this.#digits(thousandths / 10, 2);
    else this.#digits(thousandths, 3);
  }

  /** A 64-bit integer, which ProtoJSON has as text. */
  long(value: bigint): void {
    const near = Number(value);
    // Numbers are quicker to write than bigints.
    if (!Number.isSafeInteger(near)) {
      this.ascii(`"${value}"`);
      return;
    }
    this.need(1);
    this.bytes[this.pos++] = quote;
    this.number(near);
    this.need(1);
    this.bytes[this.pos++] = quote;
  }

  /** Starts an object or array whose parts each come with a comma before them; returns what `closed` needs. */
  opened(): number {
    return this.pos - this.start;
  }

  comma(): void {
    this.need(1);
    this.bytes[this.pos++] = commaByte;
  }

  colon(): void {
    this.need(1);
    this.bytes[this.pos++] = colonByte;
  }

  /** Ends an object: the first part's comma becomes the brace. */
  closedObject(opened: number): void {
    this.#closed(opened, openBrace, closeBrace);
  }

  closedArray(opened: number): void {
    this.#closed(opened, openBracket, closeBracket);
  }

  /**
   * Takes back the end of the object that was written from `opened` on, so that members can be added to it before it
   * is closed again.
   */
  reopen(opened: number): void {
    const at = this.start + opened;
    if (this.pos === at + 2) {
      this.pos = at;
      return;
    }
    this.bytes[at] = commaByte;
    this.pos--;
  }

  #closed(opened: number, open: number, close: number): void {
    this.need(2);
    const at = this.start + opened;
    if (this.pos === at) this.pos++;
    this.bytes[at] = open;
    this.bytes[this.pos++] = close;
  }
}

function digitCount(value: number): number {
  if (value < 1e4) return value < 100 ? (value < 10 ? 1 : 2) : value < 1000 ? 3 : 4;
  if (value < 1e6) return value < 1e5 ? 5 : 6;
  return value < 1e7 ? 7 : 8;
}

const quote = 0x22;
const commaByte = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const colonByte = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const encoder = new TextEncoder();

/** The key of a member as it is written, with the comma before it. */
export function keyLiteral(key: string): Uint8Array {
  return encoder.encode(`,${JSON.stringify(key)}:`);
}

/** A string as it is written. */
export function stringLiteral(text: string): Uint8Array {
  return encoder.encode(JSON.stringify(text));
}
