/**
 * Drops what a store keeps beyond its time, a slice at a time, so that no slice holds up a call for long.
 *
 * Source: reliability decision D19.
 */
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Store } from "./store.ts";

const sliceCount = 500;
/** Between two rounds: what is kept a minute longer harms nobody. */
const roundEveryMs = 60_000;
/** Between two slices of a round, for the calls that wait. */
const sliceEveryMs = 100;

export interface Purge {
  /** No slice begins any more; resolves when the one under way is over. */
  stop(): Promise<void>;
}

/** Purges a store again and again until it is stopped. A slice that fails is logged, and the next round goes on. */
export function startPurge(store: Store, clock: Clock, log: Log): Purge {
  let timer: Timer | undefined;
  let underWay: Promise<void> = Promise.resolve();
  let stopped = false;
  const wait = (delayMs: number): void => {
    if (stopped) return;
    const begin = (): void => {
      underWay = slice();
    };
    timer = clock.timer(delayMs, begin, { background: true });
  };
  const slice = async (): Promise<void> => {
    let droppedCount = 0;
    try {
      droppedCount = await store.purge(sliceCount);
    } catch (error) {
      log.warn("the store could not be purged", { error });
    }
    wait(droppedCount < sliceCount ? roundEveryMs : sliceEveryMs);
  };
  wait(roundEveryMs);
  return {
    stop() {
      stopped = true;
      timer?.cancel();
      return underWay;
    },
  };
}
