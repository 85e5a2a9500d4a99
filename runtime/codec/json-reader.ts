import { readAscii } from "./ascii.ts";
import { CodecError } from "./codec-error.ts";
import { KeyCache } from "./key-cache.ts";
import { entryBytes, longBytes, placeBytes, Reading, stringBytes } from "./reading.ts";
import { refused } from "./scalar-range.ts";
import { exactDigits, shortFraction } from "./short-fraction.ts";
import { readText } from "./text.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Nesting in what is skipped, whose brackets have to be remembered. */
const skipDepthMax = 10_000;

/** Beyond the bits of a byte: the string has escapes. */
const escaped = 0x100;

/** What stands for an object or array in an error. */
const someObject: unknown = {};
const someArray: unknown = [];

/**
 * Reads JSON that a hostile peer may have made, straight from its bytes, in one pass and with no tree of values in
 * between: it takes what `JSON.parse` takes, and nothing else.
 */
export class JsonReader extends Reading {
  readonly #keys = new KeyCache();

  /** The next byte that is not white space, without passing it; 0 at the end. */
  peek(): number {
    const { bytes, end } = this;
    for (; this.pos < end; this.pos++) {
      const byte = bytes[this.pos] ?? 0;
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return byte;
    }
    return 0;
  }

  /** The text itself is not put into the error: it may hold what nobody should see in a log. */
  notJson(): CodecError {
    return new CodecError(`the text is not JSON from byte ${this.pos} on`);
  }

  /** Refuses the value at hand, and names its kind. */
  refuse(expected: string): CodecError {
    const first = this.peek();
    if (first === openBrace) return refused(expected, someObject);
    if (first === openBracket) return refused(expected, someArray);
    return refused(expected, this.scalar());
  }

  /** Throws `CodecError` if anything follows the value. */
  finished(): void {
    if (this.peek() !== 0 || this.pos < this.end) throw this.notJson();
  }

  /** Enters an object; false if it is empty, and then it is passed. `what` says whose object it is, for the error. */
  startObject(what: string): boolean {
    if (this.peek() !== openBrace) throw this.refuse(what);
    this.pos++;
    return !this.#passed(closeBrace);
  }

  /** Enters an array; false if it is empty, and then it is passed. */
  startArray(what: string): boolean {
    if (this.peek() !== openBracket) throw this.refuse(what);
    this.pos++;
    return !this.#passed(closeBracket);
  }

  /** After a member of an object: whether another one follows; the object is passed if not. */
  moreMembers(): boolean {
    return this.#more(closeBrace);
  }

  moreItems(): boolean {
    return this.#more(closeBracket);
  }

  #more(close: number): boolean {
    const byte = this.peek();
    if (byte !== comma && byte !== close) throw this.notJson();
    this.pos++;
    return byte === comma;
  }

  #passed(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.pos++;
    return true;
  }

  /** Passes `literal` if it is what comes next, byte by byte. */
  tryLiteral(literal: Uint8Array): boolean {
    const { bytes, pos } = this;
    const { length } = literal;
    if (pos + length > this.end) return false;
    for (let i = 0; i < length; i++) if (bytes[pos + i] !== literal[i]) return false;
    this.pos = pos + length;
    return true;
  }

  /** A key and its colon. */
  key(): string {
    if (this.peek() !== quote) throw this.notJson();
    const key = this.#seldomNew();
    if (!this.#passed(colon)) throw this.notJson();
    return key;
  }

  /** As `scalar`, for strings of which there are few different ones. */
  name(): unknown {
    return this.peek() === quote ? this.#seldomNew() : this.scalar();
  }

  #seldomNew(): string {
    const start = this.pos + 1;
    const bits = this.#passString(start);
    const known = bits > 0x7f ? undefined : this.#keys.read(this.bytes, start, this.pos - 1);
    return known ?? this.#text(start, (bits & escaped) !== 0);
  }

  /** A string's text; other values are refused as not what was expected. */
  string(expected: string): string {
    if (this.peek() !== quote) throw this.refuse(expected);
    this.charge(stringBytes);
    return this.#string();
  }

  /** The value at hand if it is no object or array; what stands for one, for an error, if it is. */
  scalar(): unknown {
    const first = this.peek();
    switch (first) {
      case quote:
        return this.#string();
      case openBrace:
        return someObject;
      case openBracket:
        return someArray;
      case 0x74:
        return this.#word(trueWord, true);
      case 0x66:
        return this.#word(falseWord, false);
      case 0x6e:
        return this.#word(nullWord, null);
      default:
        return this.#number(first);
    }
  }

  #word<T>(word: Uint8Array, value: T): T {
    if (this.tryLiteral(word)) return value;
    throw this.notJson();
  }

  /** As `scalar`, for 64-bit integers, which stand as text: one that a number holds exactly is given as number. */
  long(): unknown {
    if (this.peek() !== quote) return this.scalar();
    const { bytes, pos, end } = this;
    const negative = bytes[pos + 1] === minus;
    let at = negative ? pos + 2 : pos + 1;
    const most = Math.min(end, at + exactDigits);
    let whole = 0;
    const digits = at;
    for (; at < most; at++) {
      const digit = (bytes[at] ?? 0) - zero;
      if (digit < 0 || digit > 9) break;
      whole = whole * 10 + digit;
    }
    if (at === digits || bytes[at] !== quote || at >= end) return this.scalar();
    this.pos = at + 1;
    return negative ? -whole : whole;
  }

  /** Passes null if it is at hand. */
  isNull(): boolean {
    return this.peek() === 0x6e && this.#word(nullWord, true);
  }

  /** A number, as `JSON.parse` reads it. */
  #number(first: number): number {
    const { bytes, pos, end } = this;
    let at = first === minus ? pos + 1 : pos;
    const digits = at;
    let whole = 0;
    for (; at < end; at++) {
      const digit = (bytes[at] ?? 0) - zero;
      if (digit < 0 || digit > 9) break;
      whole = whole * 10 + digit;
    }
    const count = at - digits;
    if (count === 0 || (count > 1 && bytes[digits] === zero)) throw this.notJson();
    const next = at < end ? bytes[at] : 0;
    if (next !== dot && next !== 0x65 && next !== 0x45 && count <= exactDigits) {
      this.pos = at;
      return first === minus ? -whole : whole;
    }
    this.pos = this.#fractionEnd(at);
    const fraction = next === dot ? shortFraction(bytes, at + 1, this.pos, whole, count) : undefined;
    if (fraction !== undefined) return first === minus ? -fraction : fraction;
    return Number(readAscii(bytes, pos, this.pos));
  }

  /** Passes over fraction and exponent. */
  #fractionEnd(start: number): number {
    const { bytes, end } = this;
    let at = start;
    if (at < end && bytes[at] === dot) at = this.#digitsEnd(at + 1);
    if (at < end && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
      at++;
      if (at < end && (bytes[at] === minus || bytes[at] === 0x2b)) at++;
      at = this.#digitsEnd(at);
    }
    return at;
  }

  /** Passes over one digit or more. */
  #digitsEnd(start: number): number {
    let at = start;
    while (at < this.end && (this.bytes[at] ?? 0) >= zero && (this.bytes[at] ?? 0) <= 0x39) at++;
    if (at === start) throw this.notJson();
    return at;
  }

  /** The string at hand, with its first quote still before it. */
  #string(): string {
    const start = this.pos + 1;
    const bits = this.#passString(start);
    if (bits <= 0x7f) return readAscii(this.bytes, start, this.pos - 1);
    return this.#text(start, (bits & escaped) !== 0);
  }

  /** The text of the string that was passed, which started behind its quote at `start`. */
  #text(start: number, hasEscapes: boolean): string {
    const after = this.pos;
    const text = hasEscapes
      ? unescaped(this.bytes.subarray(start - 1, after))
      : readText(this.bytes, start, after - 1);
    if (text !== undefined) return text;
    this.pos = start - 1;
    throw this.notJson();
  }

  /** Passes over a string from behind its first quote; returns all bits of its bytes, and `escaped`. */
  #passString(start: number): number {
    const { bytes, end } = this;
    let bits = 0;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === quote) {
        this.pos = at + 1;
        return bits;
      }
      if (byte < 0x20) break;
      bits |= byte;
      if (byte === backslash) {
        bits |= escaped;
        at++;
      }
    }
    throw this.notJson();
  }

  /** Passes over one value of any kind, without making anything of it; returns how much room its tree would take. */
  skip(): number {
    const closers: number[] = [];
    let treeBytes = 0;
    for (;;) {
      treeBytes += closers.at(-1) === closeBrace ? entryBytes : placeBytes + longBytes;
      const first = this.peek();
      if (first === openBrace || first === openBracket) {
        this.pos++;
        const close = first === openBrace ? closeBrace : closeBracket;
        if (!this.#passed(close)) {
          if (closers.length === skipDepthMax) throw new CodecError("the JSON is nested too deep");
          closers.push(close);
          if (close === closeBrace) this.#skipKey();
          continue;
        }
      } else {
        this.#skipScalar(first);
      }
      if (this.#closeAll(closers)) return treeBytes;
    }
  }

  /** After a value in something that is skipped: passes what ends there; true if that is all. */
  #closeAll(closers: number[]): boolean {
    for (;;) {
      const close = closers.at(-1);
      if (close === undefined) return true;
      if (this.#more(close)) {
        if (close === closeBrace) this.#skipKey();
        return false;
      }
      closers.pop();
    }
  }

  #skipKey(): void {
    if (this.peek() !== quote) throw this.notJson();
    this.#skipScalar(quote);
    if (!this.#passed(colon)) throw this.notJson();
  }

  #skipScalar(first: number): void {
    if (first !== quote) {
      this.scalar();
      return;
    }
    const start = this.pos + 1;
    const bits = this.#passString(start);
    // Escapes and what is not ASCII have to be looked at all the same.
    if (bits > 0x7f) this.#text(start, (bits & escaped) !== 0);
  }

  /** The tree of the value at hand. */
  tree(): unknown {
    this.peek();
    const start = this.pos;
    this.charge(this.skip());
    return JSON.parse(decoder.decode(this.bytes.subarray(start, this.pos)));
  }
}

/** The text of a string with escapes; undefined if they or its UTF-8 are wrong. */
function unescaped(quoted: Uint8Array): string | undefined {
  try {
    return JSON.parse(decoder.decode(quoted)) as string;
  } catch {
    return undefined;
  }
}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const encoder = new TextEncoder();
const trueWord = encoder.encode("true");
const falseWord = encoder.encode("false");
const nullWord = encoder.encode("null");
