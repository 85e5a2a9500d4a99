/**
 * The wait before a new try: it doubles up to a most, and a random part of up to half is taken off, so that
 * many clients that failed together do not come back together.
 *
 * Source: design "Calls: Constants".
 */
import type { Random } from "../base/random.ts";

/**
 * @param failures - how many tries have failed, 1 and up.
 * @returns ms between half of the grown wait and all of it.
 */
export function backoffMs(failures: number, firstMs: number, mostMs: number, random: Random): number {
  // 2^30 first waits are above any most; the bound keeps the power from overflowing.
  const grownMs = Math.min(mostMs, firstMs * 2 ** Math.min(30, failures - 1));
  return grownMs * (1 - random.fraction() / 2);
}
