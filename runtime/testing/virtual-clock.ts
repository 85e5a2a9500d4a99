/**
 * Time that moves when a test moves it. A day of waits passes in a moment, always in the same order.
 *
 * Between two timers the clock lets the program run until its promise chains rest, as they would between
 * two timers of the system.
 */
import type { Clock, Timer } from "../base/clock.ts";

export interface VirtualClock extends Clock {
  /**
   * Moves time on by `ms` (default 0: what is due now) and fires every timer that falls due on the way, in
   * the order of their instants, those that fired timers set among them.
   *
   * @throws RangeError for a time below zero or not finite, Error when another advance is under way: two
   * at once have no order.
   */
  advance(ms?: number): Promise<void>;
  /** Moves time to the next timer and fires all of that instant; false when there is none. */
  advanceToNext(): Promise<boolean>;
  /** Moves the wall clock alone, as a person or NTP does. May be negative. */
  jumpWall(ms: number): void;
  /** Moves both clocks at once, as a laptop's sleep does; then the timers that are late fire. */
  sleepLaptop(ms: number): Promise<void>;
  /** Lets promise chains that are ready run, without moving time. */
  settle(): Promise<void>;
  /** Timers that have not fired and are not cancelled. */
  readonly pendingCount: number;
  /** The monotonic instant of the earliest of them; undefined without any. */
  readonly next: number | undefined;
}

/** Wall time at the start: the first second of 2026. A fixed one, so that a test's texts do not change. */
const startWallMs = Date.UTC(2026, 0, 1);

interface Wait {
  readonly at: number;
  /** Timers of one instant fire in the order in which they were set. */
  readonly order: number;
  readonly fn: () => void;
}

// Taken when the file loads: a test that fakes the system's timers later does not stop this clock.
// eslint-disable-next-line no-restricted-properties -- no time is read or waited for, only the turn ends
const atTurnEnd: ((fn: () => void) => unknown) | undefined = globalThis.setImmediate;

/** One turn of the system's event loop: every promise chain that can go on has gone on when it ends. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (atTurnEnd !== undefined) {
      atTurnEnd(resolve);
      return;
    }
    // Browsers have no setImmediate; a channel's message ends a turn too, only slower.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

function later(a: Wait, b: Wait): boolean {
  return a.at > b.at || (a.at === b.at && a.order > b.order);
}

class Virtual implements VirtualClock {
  /** The latest first, so that the next one is taken from the end. */
  readonly #waits: Wait[] = [];
  #monotonicMs = 0;
  #wallMs: number;
  #order = 0;
  #moving = false;

  constructor(wallMs: number) {
    this.#wallMs = wallMs;
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  timer(delayMs: number, fn: () => void): Timer {
    if (Number.isNaN(delayMs)) throw new RangeError("virtualClock: a timer's delay is NaN");
    if (delayMs === Number.POSITIVE_INFINITY) return { cancel: () => undefined };
    const wait: Wait = { at: this.#monotonicMs + Math.max(0, delayMs), order: this.#order++, fn };
    this.#waits.splice(this.#placeOf(wait), 0, wait);
    return { cancel: () => this.#drop(wait) };
  }

  get pendingCount(): number {
    return this.#waits.length;
  }

  get next(): number | undefined {
    return this.#waits.at(-1)?.at;
  }

  advance(ms = 0): Promise<void> {
    if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY)) {
      return Promise.reject(
        new RangeError(`virtualClock: cannot advance by ${ms} ms; give 0 or more, jumpWall moves back`),
      );
    }
    return this.#move(() => this.#runTo(this.#monotonicMs + ms));
  }

  async advanceToNext(): Promise<boolean> {
    const at = this.next;
    if (at === undefined) return false;
    await this.advance(Math.max(0, at - this.#monotonicMs));
    return true;
  }

  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  sleepLaptop(ms: number): Promise<void> {
    this.#to(this.#monotonicMs + ms);
    return this.advance();
  }

  settle(): Promise<void> {
    return turn();
  }

  async #move(run: () => Promise<void>): Promise<void> {
    if (this.#moving) {
      throw new Error("virtualClock: another advance is under way; await it before the next one");
    }
    this.#moving = true;
    try {
      await run();
    } finally {
      this.#moving = false;
    }
  }

  async #runTo(end: number): Promise<void> {
    await turn(); // what is ready may set timers that fall due on the way
    for (;;) {
      const wait = this.#waits.at(-1);
      if (wait === undefined || wait.at > end) break;
      this.#to(Math.max(this.#monotonicMs, wait.at));
      this.#waits.pop();
      wait.fn();
      await turn();
    }
    this.#to(end);
  }

  #to(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }

  /** Where the wait stands, or would stand, in the list. */
  #placeOf(wait: Wait): number {
    let from = 0;
    let to = this.#waits.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const there = this.#waits[middle];
      if (there !== undefined && later(there, wait)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #drop(wait: Wait): void {
    const place = this.#placeOf(wait);
    if (this.#waits[place] === wait) this.#waits.splice(place, 1);
  }
}

/**
 * A clock that stands still until it is moved.
 *
 * @param startMs - wall time at the start, in ms since 1970. Default: the start of 2026. Monotonic time
 * starts at 0.
 */
export function virtualClock(startMs: number = startWallMs): VirtualClock {
  return new Virtual(startMs);
}
