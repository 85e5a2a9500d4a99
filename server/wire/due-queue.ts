/**
 * Instants at which something is to be looked at, for thousands at once: one timer, for the first of them. A heap, so
 * that one that is put in or taken out moves past a few others alone.
 */
import type { Clock, Timer } from "../../runtime/base/clock.ts";

/** One that waits. While it is in the queue its fields belong to that. */
export interface Due {
  /** Ms of the monotonic clock. */
  dueAt: number;
  /** Its place in the queue; -1: it is in none. */
  place: number;
  /** Its instant has come, and it is in the queue no more. */
  due(): void;
}

export class DueQueue {
  readonly #clock: Clock;
  readonly #heap: Due[] = [];
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Puts one in that is in no queue. */
  add(one: Due, dueAt: number): void {
    one.dueAt = dueAt;
    this.#heap.push(one);
    this.#rise(one, this.#heap.length - 1);
    this.#schedule();
  }

  /** Takes one out; one that is not in it stays so. */
  remove(one: Due): void {
    if (one.place < 0) return;
    this.#take(one);
    this.#schedule();
  }

  #take(one: Due): void {
    const { place } = one;
    one.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === one) return;
    this.#rise(last, place);
    this.#sink(last, last.place);
  }

  /** A timer that comes too early finds nothing due, and costs less than one that is set anew each time. */
  #schedule(): void {
    const dueAt = this.#heap[0]?.dueAt;
    if (dueAt !== undefined && this.#timerAt <= dueAt) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (dueAt === undefined) return;
    this.#timerAt = dueAt;
    const waitMs = Math.max(0, dueAt - this.#clock.monotonic());
    this.#timer = this.#clock.timer(waitMs, this.#look, { background: true });
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    for (let first = this.#heap[0]; first !== undefined && first.dueAt <= now; first = this.#heap[0]) {
      this.#take(first);
      first.due();
    }
    this.#schedule();
  };

  #rise(one: Due, from: number): void {
    let place = from;
    while (place > 0) {
      const above = this.#heap[(place - 1) >> 1];
      if (above === undefined || above.dueAt <= one.dueAt) break;
      this.#put(above, place);
      place = (place - 1) >> 1;
    }
    this.#put(one, place);
  }

  #sink(one: Due, from: number): void {
    let place = from;
    for (;;) {
      const left = this.#heap[2 * place + 1];
      const right = this.#heap[2 * place + 2];
      const next = right !== undefined && left !== undefined && right.dueAt < left.dueAt ? right : left;
      if (next === undefined || next.dueAt >= one.dueAt) break;
      const its = next.place;
      this.#put(next, place);
      place = its;
    }
    this.#put(one, place);
  }

  #put(one: Due, place: number): void {
    this.#heap[place] = one;
    one.place = place;
  }
}
