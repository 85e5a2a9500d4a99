/**
 * Time, as a value that is passed in.
 *
 * A retry, a deadline or a kept call that reads the system's clock cannot be tested without waiting, and
 * cannot be simulated at all. So every part that needs time takes a {@link Clock}, and this file is the
 * only one that asks the system.
 */
import type { Stop } from "./late-signal.ts";
export interface Clock {
  /** Wall time in ms since 1970. May jump either way: only for what leaves the process, never for waits. */
  now(): number;
  /** Ms since some start, which never jump back. Every deadline and every wait is measured by it. */
  monotonic(): number;
  /**
   * Calls `fn` once after `delayMs` (0 and below: as soon as this turn is over). Any finite delay works,
   * also above the 2^31-1 ms that the system's timers end at; an infinite one never comes.
   *
   * A `background` timer does not keep the process alive. Default: it does.
   */
  timer(delayMs: number, fn: () => void, options?: { readonly background?: boolean }): Timer;
}

/** A wait that is under way. */
export interface Timer {
  /** The function will not be called. Once it has been, this does nothing. */
  cancel(): void;
}

/** The longest delay that the system's timers take; a longer one would fire at once. */
const systemDelayMsMost = 2 ** 31 - 1;

/** A class, and not closures: a program may have a hundred thousand of them. */
class SystemTimer implements Timer {
  #handle: ReturnType<typeof setTimeout> | undefined;

  constructor(delayMs: number, fn: () => void, background: boolean) {
    if (delayMs !== Number.POSITIVE_INFINITY) this.#wait(delayMs, fn, background);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  #wait(delayMs: number, fn: () => void, background: boolean): void {
    const leftMs = delayMs - systemDelayMsMost;
    const next = leftMs > 0 ? () => this.#wait(leftMs, fn, background) : fn;
    this.#handle = setTimeout(next, Math.max(0, Math.min(delayMs, systemDelayMsMost)));
    // In browsers a handle is a number, and no timer keeps a page alive.
    if (background && typeof this.#handle === "object") this.#handle.unref();
  }
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(delayMs, fn, options) {
    if (Number.isNaN(delayMs)) throw new RangeError("a timer's delay is NaN: it would never come");
    return new SystemTimer(delayMs, fn, options?.background === true);
  },
};

/**
 * Resolves after `delayMs` on the given clock, or as soon as the signal aborts; it never rejects, so that a
 * loop looks at the signal itself and nothing is left unhandled.
 */
export function sleep(clock: Clock, delayMs: number, signal?: Stop): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.timer(delayMs, done);
    signal?.addEventListener("abort", done);
  });
}
