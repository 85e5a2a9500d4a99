/**
 * One process of a simulation: a program that may die, stand still, or have a wall clock of its own. Everything that
 * reaches it from outside (a timer, a packet, a disk's answer) passes through here, so that a dead one never
 * hears anything again, although its promises are still in the memory of the test.
 */
import type { Clock, Timer } from "../base/clock.ts";

export interface SimulatedProcess {
  /** For timelines. */
  readonly name: string;
  /** Its clock: the timers end with it, and wait while it is paused. */
  readonly clock: Clock;
  readonly alive: boolean;
  /** Timers of its clock that have not fired and were not cancelled. */
  readonly timerCount: number;
  /** Runs `fn` now; later while it is paused; never once it is dead. */
  run(fn: () => void): void;
  /** What comes from outside: as the promise, but never in a dead process. */
  hold<T>(outside: Promise<T>): Promise<T>;
  /** Calls `fn` when it dies; at once when it is dead. */
  onDeath(fn: () => void): void;
  /** Ends it as `kill -9` does: nothing of it runs any more. Twice is once. */
  kill(): void;
  /** Stops it as SIGSTOP does: time goes on, and what falls due waits. */
  pause(): void;
  /** Goes on: what fell due meanwhile runs now, in its order. */
  resume(): void;
  /** Moves its wall clock alone by so many ms, which may be negative. */
  jumpWall(ms: number): void;
}

class Process implements SimulatedProcess {
  readonly name: string;
  readonly clock: Clock;
  #alive = true;
  #paused = false;
  #wallMs = 0;
  #waiting: (() => void)[] = [];
  readonly #timers = new Set<Timer>();
  readonly #deathListeners: (() => void)[] = [];

  constructor(name: string, clock: Clock) {
    this.name = name;
    this.clock = {
      now: () => clock.now() + this.#wallMs,
      monotonic: () => clock.monotonic(),
      timer: (delayMs, fn, options) => this.#timer(clock, delayMs, fn, options),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  run(fn: () => void): void {
    if (!this.#alive) return;
    if (this.#paused) this.#waiting.push(fn);
    else fn();
  }

  hold<T>(outside: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      outside.then(
        (value) => this.run(() => resolve(value)),
        (error: unknown) => this.run(() => reject(error)),
      );
    });
  }

  onDeath(fn: () => void): void {
    if (this.#alive) this.#deathListeners.push(fn);
    else fn(); // what it began in the very moment of its death has nobody either
  }

  kill(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#waiting = [];
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    for (const fn of this.#deathListeners.splice(0)) fn();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    for (const fn of this.#waiting.splice(0)) fn();
  }

  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  #timer(clock: Clock, delayMs: number, fn: () => void, options?: { readonly background?: boolean }): Timer {
    if (!this.#alive) return { cancel: () => undefined };
    let cancelled = false;
    const inner = clock.timer(
      delayMs,
      () => {
        this.#timers.delete(inner);
        this.run(() => {
          if (!cancelled) fn();
        });
      },
      options,
    );
    this.#timers.add(inner);
    return {
      cancel: () => {
        cancelled = true;
        this.#timers.delete(inner);
        inner.cancel();
      },
    };
  }
}

/** Starts a process on a test's clock. */
export function simulatedProcess(clock: Clock, name = "process"): SimulatedProcess {
  return new Process(name, clock);
}
