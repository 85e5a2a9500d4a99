/**
 * The time by which a store keeps and drops. Wall time, but held back: it runs at most a tenth faster than the
 * monotonic clock, so that a wall clock which jumps two days ahead drops nothing that somebody may still ask
 * for. A jump back is followed at once; it only keeps longer.
 *
 * Source: reliability decision D19.
 */
import type { Clock } from "../../runtime/base/clock.ts";

const fasterMost = 1.1;

/** Gives the store's time in ms since 1970. */
export function storeTime(clock: Clock): () => number {
  let lastMs = clock.now();
  let lastMonotonicMs = clock.monotonic();
  return () => {
    const monotonicMs = clock.monotonic();
    lastMs = Math.min(clock.now(), lastMs + fasterMost * (monotonicMs - lastMonotonicMs));
    lastMonotonicMs = monotonicMs;
    return lastMs;
  };
}
