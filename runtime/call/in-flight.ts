/**
 * How many commands of a link are under way at once. The rest wait in their order, inside their budgets: the
 * server keeps what it must remember of one client bounded by this.
 *
 * Source: design "Commands run once".
 */
import type { Stop } from "../base/late-signal.ts";
import { untilAborted } from "../base/signals.ts";

export class InFlight {
  #free: number;
  readonly #queue = new Set<() => void>();

  constructor(most: number) {
    this.#free = most;
  }

  /** Takes a place if one is free now, which {@link leave} returns; false: there is none. */
  enterNow(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Returns a place that {@link enterNow} took. */
  leave(): void {
    this.#leave();
  }

  /**
   * Takes a place, waiting for one if there is none; gives the function that returns it.
   *
   * @throws the signal's reason, when it aborts first.
   */
  async enter(signal: Stop): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#leave();
    };
  }

  async #wait(signal: Stop): Promise<void> {
    let go: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => {
      go = resolve;
    });
    this.#queue.add(go);
    try {
      await untilAborted(turn, signal);
    } catch (error) {
      // The place may have been handed over in the same moment: then the next one gets it.
      if (!this.#queue.delete(go)) this.#leave();
      throw error;
    }
  }

  #leave(): void {
    const [next] = this.#queue;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#queue.delete(next);
    next();
  }
}
