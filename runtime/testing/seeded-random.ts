/**
 * Chance from one seed: the same seed gives the same run, so that a failure can be seen again.
 *
 * The generator is sfc32 (Chris Doty-Humphrey's PractRand): 32-bit arithmetic alone, so that every
 * engine gives the same numbers. It is no source of secrets.
 */
import type { Random } from "../base/random.ts";

export interface SeededRandom extends Random {
  /** A whole number from 0 up to, but never, `end` (1 to 2^32). */
  int(end: number): number;
  /** One of the items. @throws RangeError for none. */
  pick<T>(items: readonly T[]): T;
  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean;
  /**
   * A source of its own, given by this one's seed and the label, however much either was used: what one
   * part draws does not move what another part gets.
   */
  fork(label: string): SeededRandom;
  /** What gives this source again. */
  readonly seed: number | string;
}

const warmUpCount = 16;

/** Spreads a text over 32 bits and goes on from there (FNV-1a with a finish of murmur3). */
function spread(text: string): () => number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  }
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x85ebca6b);
    mixed ^= mixed >>> 13;
    mixed = Math.imul(mixed, 0xc2b2ae35);
    return mixed ^ (mixed >>> 16);
  };
}

class Seeded implements SeededRandom {
  readonly seed: number | string;
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number | string) {
    this.seed = seed;
    const word = spread(String(seed));
    this.#a = word();
    this.#b = word();
    this.#c = word();
    for (let round = 0; round < warmUpCount; round++) this.#word();
  }

  fraction(): number {
    return this.#word() / 2 ** 32;
  }

  bytes(count: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count; at += 4) {
      let word = this.#word();
      for (let to = at; to < Math.min(at + 4, count); to++) {
        bytes[to] = word & 0xff;
        word >>>= 8;
      }
    }
    return bytes;
  }

  int(end: number): number {
    if (!Number.isInteger(end) || end < 1 || end > 2 ** 32) {
      throw new RangeError(`seededRandom: int(${end}); give a whole number from 1 to 2^32`);
    }
    return Math.floor(this.fraction() * end);
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError("seededRandom: pick from an empty list");
    return items[this.int(items.length)] as T;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  fork(label: string): SeededRandom {
    return new Seeded(`${this.seed}/${label}`);
  }

  #word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }
}

/** A source of chance that a seed fixes. */
export function seededRandom(seed: number | string): SeededRandom {
  return new Seeded(seed);
}
