/**
 * Objects that are live and that nobody holds, until their linger is over. A drop leaves thousands at once, and the
 * reconnect takes most of them up again: one timer looks after all of them.
 *
 * Source: design "Held objects: Linger".
 */
import type { Clock } from "../base/clock.ts";
import { SharedTimer } from "../base/shared-timer.ts";

/** An object that lingers. */
export interface Lingerer {
  lingerOver(): void;
}

interface Rest {
  readonly object: Lingerer;
  readonly dueAt: number;
}

export class Lingering {
  readonly #clock: Clock;
  readonly #rests = new Map<Lingerer, Rest>();
  readonly #timer: SharedTimer<Rest>;

  constructor(clock: Clock) {
    this.#clock = clock;
    const over = ({ object }: Rest): void => {
      this.#rests.delete(object);
      object.lingerOver();
    };
    this.#timer = new SharedTimer(clock, () => this.#rests.values(), over, { background: true });
  }

  begin(object: Lingerer, lingerMs: number): void {
    const dueAt = this.#clock.monotonic() + lingerMs;
    this.#rests.set(object, { object, dueAt });
    this.#timer.watch(dueAt);
  }

  /** It is held again, or has ended. */
  end(object: Lingerer): void {
    if (this.#rests.delete(object) && this.#rests.size === 0) this.#timer.rest();
  }
}
