/**
 * The look into the outbox that a burst of calls waits for: all of them for the same one, and for a moment only. What
 * takes longer is waited for by the loop, which has each call's budget.
 */
import type { Clock } from "../base/clock.ts";
import { untilAborted } from "../base/signals.ts";

/** How long a look may take before its calls are the loop's, in ms. A folder is read in less. */
export const lookMsMost = 20;

export class OutboxLook {
  readonly #clock: Clock;
  #looking: Promise<boolean> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Whether it was done in time.
   *
   * @param look - never rejects; what an earlier call waits for already counts in its place.
   */
  inTime(look: Promise<void>): Promise<boolean> {
    this.#looking ??= this.#wait(look);
    return this.#looking;
  }

  async #wait(look: Promise<void>): Promise<boolean> {
    const limit = new AbortController();
    const timer = this.#clock.timer(lookMsMost, () => limit.abort());
    const done = await untilAborted(look, limit.signal).then(
      () => true,
      () => false,
    );
    timer.cancel();
    this.#looking = undefined;
    return done;
  }
}
