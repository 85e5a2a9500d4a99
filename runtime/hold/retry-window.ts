/**
 * How long a failed object rests before the next attempt: the wait doubles while attempts fail one after the other,
 * with a random part taken off, so that objects that failed together do not try together.
 *
 * Source: design "Held objects: Failure and retry".
 */
import { retryWindowFirstMs, retryWindowMsMost } from "../base/constants.ts";
import type { Random } from "../base/random.ts";
import { backoffMs } from "../call/backoff.ts";

/** @param failures - attempts that failed in a row, 1 and up. */
export function retryWindowMs(failures: number, random: Random): number {
  return backoffMs(failures, retryWindowFirstMs, retryWindowMsMost, random);
}

/**
 * The failures in a row, after one more. An object that was live for longer than any window begins anew; one that
 * falls over soon after each start does not try at full speed for ever.
 *
 * @param liveMs - how long it was live before this failure; undefined: it was not.
 */
export function failuresInRow(before: number, liveMs: number | undefined): number {
  return liveMs !== undefined && liveMs >= retryWindowMsMost ? 1 : before + 1;
}
