/**
 * The wait before a new try: it doubles up to a most, and a random part of up to half is taken off, so that
 * many clients that failed together do not come back together.
 *
 * Source: design "Calls: Constants".
 */
import { throttledFirstWaitMs, type Timing } from "../base/constants.ts";
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

/** The wait after an answer that says "not now". @param failures - how many such answers, 1 and up. */
export function faultWaitMs(failures: number, throttled: boolean, timing: Timing, random: Random): number {
  const { firstWaitMs, waitMsMost } = timing;
  const firstMs = throttled ? Math.max(throttledFirstWaitMs, firstWaitMs) : firstWaitMs;
  return backoffMs(failures, Math.min(firstMs, waitMsMost), waitMsMost, random);
}
