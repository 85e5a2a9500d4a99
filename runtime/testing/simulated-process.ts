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
  /**
   * Its machine sleeps, as a laptop does: it stands still, its monotonic clock too, and its timers have as long to go
   * afterwards as they had before. Its wall clock goes on.
   */
  sleep(): void;
  /** It wakes. */
  wake(): void;
  /** Moves its wall clock alone by so many ms, which may be negative. */
  jumpWall(ms: number): void;
}

/** A timer of a process. */
interface Wait {
  /** By the process's own monotonic clock. */
  readonly dueAt: number;
  readonly fire: () => void;
  readonly background: boolean;
  inner: Timer;
}

class Process implements SimulatedProcess {
  readonly name: string;
  readonly clock: Clock;
  #alive = true;
  #paused = false;
  /** Since when it sleeps, by the clock of the test; undefined while it is awake. */
  #asleepSince: number | undefined;
  #sleptMs = 0;
  readonly #clock: Clock;
  #wallMs = 0;
  #waiting: (() => void)[] = [];
  readonly #timers = new Set<Wait>();
  readonly #deathListeners: (() => void)[] = [];

  constructor(name: string, clock: Clock) {
    this.name = name;
    this.#clock = clock;
    this.clock = {
      now: () => clock.now() + this.#wallMs,
      monotonic: () => (this.#asleepSince ?? clock.monotonic()) - this.#sleptMs,
      timer: (delayMs, fn, options) => this.#timer(delayMs, fn, options?.background === true),
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
    if (this.#stands) this.#waiting.push(fn);
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
    for (const { inner } of this.#timers) inner.cancel();
    this.#timers.clear();
    for (const fn of this.#deathListeners.splice(0)) fn();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#goOn();
  }

  sleep(): void {
    if (this.#asleepSince !== undefined) return;
    this.#asleepSince = this.#clock.monotonic();
    for (const { inner } of this.#timers) inner.cancel();
  }

  wake(): void {
    if (this.#asleepSince === undefined) return;
    const now = this.clock.monotonic();
    this.#sleptMs += this.#clock.monotonic() - this.#asleepSince;
    this.#asleepSince = undefined;
    for (const wait of this.#timers) wait.inner = this.#arm(wait, wait.dueAt - now);
    this.#goOn();
  }

  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  get #stands(): boolean {
    return this.#paused || this.#asleepSince !== undefined;
  }

  #goOn(): void {
    if (this.#stands) return;
    for (const fn of this.#waiting.splice(0)) fn();
  }

  #timer(delayMs: number, fn: () => void, background: boolean): Timer {
    const none: Timer = { cancel: () => undefined };
    if (!this.#alive) return none;
    let cancelled = false;
    const wait: Wait = {
      dueAt: this.clock.monotonic() + Math.max(0, delayMs),
      background,
      inner: none,
      fire: () =>
        this.run(() => {
          if (!cancelled) fn();
        }),
    };
    this.#timers.add(wait);
    wait.inner = this.#arm(wait, delayMs);
    return {
      cancel: () => {
        cancelled = true;
        this.#timers.delete(wait);
        wait.inner.cancel();
      },
    };
  }

  #arm(wait: Wait, delayMs: number): Timer {
    if (this.#asleepSince !== undefined) return wait.inner; // it begins with the waking
    const fire = (): void => {
      this.#timers.delete(wait);
      wait.fire();
    };
    return this.#clock.timer(delayMs, fire, { background: wait.background });
  }
}

/** Starts a process on a test's clock. */
export function simulatedProcess(clock: Clock, name = "process"): SimulatedProcess {
  return new Process(name, clock);
}
