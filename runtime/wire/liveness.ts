/**
 * Whether the other end of a wire is there. Each end gives a sign after a third of the time for which the other
 * waits, and takes a wire without a byte for dead when its own time is over.
 *
 * Only time awake counts: a look that comes twice as late as it was due tells that this machine slept, or that
 * the program was busy. Then nobody can say who was silent, and one question decides.
 *
 * Pure: it is told the time, and says when it wants to look again.
 *
 * Source: design "The heartbeat"; reliability decision D45.
 */

/** What a look leads to. `slept`: ask for a sign now; `dead`: the other end is gone. */
export type LivenessAct = "nothing" | "sign" | "slept" | "dead";

/** Ms that the other end has for its answer to a question. */
export const askWaitMs = 5_000;

export interface LivenessTimes {
  /** Ms without a byte after which the other end counts as gone. */
  readonly idleMs: number;
  /** The same of the other end: it gets a sign after a third of it. */
  readonly otherIdleMs: number;
}

export class Liveness {
  readonly #idleMs: number;
  readonly #signEveryMs: number;
  #heardAt: number;
  #signedAt: number;
  /** When the last look was, and the next is due. */
  #lookedAt: number;
  #dueAt: number;
  /** The instant at which an open question is over. */
  #answerBy = Number.POSITIVE_INFINITY;

  constructor(times: LivenessTimes, now: number) {
    this.#idleMs = times.idleMs;
    this.#signEveryMs = times.otherIdleMs / 3;
    this.#heardAt = now;
    this.#signedAt = now;
    this.#lookedAt = now;
    this.#dueAt = now;
    this.#plan(now);
  }

  /** Ms of the monotonic clock at which the next look is due. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** A byte came. */
  heard(now: number): void {
    this.#heardAt = now;
    this.#answerBy = Number.POSITIVE_INFINITY;
  }

  /**
   * Whether a sign is due, asked when something came; it counts as given then. A page in the background gets its timers
   * once a minute, and what comes on time: there this is what keeps the other end from giving it up.
   */
  signDue(now: number): boolean {
    if (now - this.#signedAt < this.#signEveryMs) return false;
    this.#signedAt = now;
    return true;
  }

  /** A question goes out: without a byte within `waitMs` the other end is dead. */
  asked(now: number, waitMs: number): void {
    if (this.#answerBy !== Number.POSITIVE_INFINITY) return;
    this.#answerBy = now + waitMs;
    this.#dueAt = Math.min(this.#dueAt, this.#answerBy);
  }

  look(now: number): LivenessAct {
    const act = this.#judge(now);
    this.#lookedAt = now;
    if (act === "sign") this.#signedAt = now;
    if (act === "slept") {
      this.#signedAt = now;
      this.#heardAt = now;
      this.#answerBy = now + askWaitMs;
    }
    this.#plan(now);
    return act;
  }

  #judge(now: number): LivenessAct {
    const plannedMs = this.#dueAt - this.#lookedAt;
    // Also while a question is open: it has not been out for as long as it seems.
    if (now - this.#lookedAt > 2 * plannedMs) return "slept";
    if (now >= this.#answerBy || now - this.#heardAt >= this.#idleMs) return "dead";
    return now - this.#signedAt >= this.#signEveryMs ? "sign" : "nothing";
  }

  #plan(now: number): void {
    const next = Math.min(this.#signedAt + this.#signEveryMs, this.#heardAt + this.#idleMs, this.#answerBy);
    // Never at once again, or "twice as late" would be a matter of microseconds.
    this.#dueAt = Math.max(next, now + this.#signEveryMs / 10);
  }
}
