/**
 * Chance, as a value that is passed in: a seed makes a run repeatable. This file is the only one that asks
 * the system.
 */
export interface Random {
  /** `count` fresh bytes. The system's are fit for secrets; a seeded source's are not. */
  bytes(count: number): Uint8Array<ArrayBuffer>;
  /** A number from 0 up to, but never, 1. */
  fraction(): number;
}

/** Bytes that were asked for and not given out yet: one question of the system costs more than a hundred IDs. */
const poolBytes = 4_096;
let pool = new Uint8Array(0);
let poolAt = 0;

/** Each byte is given out once, and is not kept. */
function fromPool(count: number): Uint8Array<ArrayBuffer> {
  if (count > poolBytes / 16) return crypto.getRandomValues(new Uint8Array(count));
  if (poolAt + count > pool.length) {
    pool = crypto.getRandomValues(new Uint8Array(poolBytes));
    poolAt = 0;
  }
  const bytes = pool.slice(poolAt, poolAt + count);
  pool.fill(0, poolAt, poolAt + count);
  poolAt += count;
  return bytes;
}

/** The system's source of chance. */
export const systemRandom: Random = {
  bytes: fromPool,
  fraction: () => Math.random(),
};
