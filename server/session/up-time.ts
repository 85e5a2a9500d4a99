/**
 * Time in which the server was up and awake, in ms since its start. A session is not gone because the server was
 * paused, slept with its machine, or hung: nobody could give a sign to it.
 *
 * It is fed by ticks of a known length. A tick that comes more than twice as late says that the process stood
 * still; what lies before it does not count.
 *
 * Source: reliability decision D52.
 */
export class UpTime {
  readonly #tickMs: number;
  #countedMs = 0;
  #tickedAtMs: number;

  constructor(tickMs: number, monotonicMs: number) {
    this.#tickMs = tickMs;
    this.#tickedAtMs = monotonicMs;
  }

  /** The present instant. Between ticks it goes on by one tick at most, so that no pause gets into it. */
  at(monotonicMs: number): number {
    return this.#countedMs + Math.min(monotonicMs - this.#tickedAtMs, this.#tickMs);
  }

  /** Counts a tick, and says whether the process was awake since the one before. */
  tick(monotonicMs: number): boolean {
    const awake = monotonicMs - this.#tickedAtMs <= 2 * this.#tickMs;
    this.#countedMs = this.at(monotonicMs);
    this.#tickedAtMs = monotonicMs;
    return awake;
  }
}
