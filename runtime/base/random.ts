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

/** The system's source of chance. */
export const systemRandom: Random = {
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  fraction: () => Math.random(),
};
