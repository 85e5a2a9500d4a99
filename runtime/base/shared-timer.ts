/**
 * One timer for the deadlines of many, most of which are over long before theirs: a timer of its own for each costs
 * more than the rest of a small call. It looks through all that wait when the earliest deadline that it was told of
 * has come, which is once in a deadline's length and not once in a call.
 */
import type { Clock, Timer } from "./clock.ts";

/** What waits. */
export interface Waiting {
  /** Ms of the monotonic clock; undefined: it waits for ever. */
  readonly dueAt: number | undefined;
}

export class SharedTimer<T extends Waiting> {
  readonly #clock: Clock;
  readonly #waiting: () => Iterable<T>;
  readonly #late: (item: T) => void;
  readonly #background: boolean;
  #timer: Timer | undefined;
  #at = Number.POSITIVE_INFINITY;

  /**
   * @param waiting - all that wait now.
   * @param late - is told of each whose deadline has come; it may end its wait.
   * @param options - `background`: it keeps no process alive. Default: it does.
   */
  constructor(
    clock: Clock,
    waiting: () => Iterable<T>,
    late: (item: T) => void,
    options: { readonly background?: boolean } = {},
  ) {
    this.#clock = clock;
    this.#waiting = waiting;
    this.#late = late;
    this.#background = options.background === true;
  }

  /** Something has begun to wait. */
  watch(dueAt: number | undefined): void {
    if (dueAt === undefined || dueAt >= this.#at) return;
    this.#timer?.cancel();
    this.#at = dueAt;
    const options = { background: this.#background };
    this.#timer = this.#clock.timer(dueAt - this.#clock.monotonic(), () => this.#look(), options);
  }

  /** Nothing waits any more. */
  rest(): void {
    this.#timer?.cancel();
    this.#at = Number.POSITIVE_INFINITY;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    this.#at = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const item of [...this.#waiting()]) {
      const { dueAt } = item;
      if (dueAt === undefined) continue;
      if (dueAt <= now) this.#late(item);
      else if (dueAt < next) next = dueAt;
    }
    // What was late may have begun something that is due earlier.
    if (next < Number.POSITIVE_INFINITY) this.watch(next);
  }
}
