/**
 * What the link knows of the server's clock. Every answer carries the server's time; that time plus what has
 * passed here since is at most the server's time of now, since the way back took a while. So a call's first
 * sending, told in the server's own time, may be taken for a little too old, and never for too new: an old
 * copy of a command cannot pass for a fresh one, whatever this machine's clock says.
 *
 * Source: reliability decision D7.
 */
import type { Clock } from "../base/clock.ts";
import { ticketKeepMs, ticketMarginMs } from "../base/constants.ts";

export class Ticket {
  readonly #clock: Clock;
  #serverMs = 0;
  #learnedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the value of `holdfast-now`; anything that is no time is ignored. */
  learn(value: string | null): void {
    if (value === null || !/^\d{1,15}$/.test(value)) return;
    this.#serverMs = Number(value);
    this.#learnedAt = this.#clock.monotonic();
  }

  /**
   * The server's time at an instant of our monotonic clock; undefined when it is not known well enough.
   *
   * @param now - that clock's time, for who has just asked for it.
   */
  serverMsAt(monotonicMs: number, now: number = this.#clock.monotonic()): number | undefined {
    const ageMs = now - this.#learnedAt;
    if (ageMs > ticketKeepMs) return undefined;
    // Two clocks drift apart as time goes by, so the margin grows with the ticket's age: taken off here, once,
    // since nobody else knows that age.
    const driftMs = (ageMs / ticketKeepMs) * ticketMarginMs;
    return this.#serverMs + (monotonicMs - this.#learnedAt) - driftMs;
  }
}
