/**
 * Runs something once for all that a turn of the event loop brings: what a thousand promises of it say, goes out
 * as one packet.
 *
 * A turn's end cannot be asked for without waiting for a next one, which would add to the time of a single
 * call. So the batch waits until promises have been busy with other things for a few rounds: a round costs
 * nanoseconds, and all that one event set off moves through its promises in step.
 */

/** Rounds without a new mark after which nothing more is to be expected: as many as a handler's awaits have. */
const quietRoundsMost = 16;
/** Rounds after which it runs in any case, so that promises that never rest hold up nothing. */
const roundsMost = 256;
/** Its rounds cost a tenth of those of `queueMicrotask`, which Node wraps in a resource of its own each time. */
const resolved = Promise.resolve();

export class Batch {
  readonly #run: () => void;
  #quietRounds = 0;
  #rounds = 0;
  #waiting = false;

  /** @param run - is called once after some marks; it must not throw. */
  constructor(run: () => void) {
    this.#run = run;
  }

  /** There is something to run for. */
  mark(): void {
    this.#quietRounds = 0;
    if (this.#waiting) return;
    this.#waiting = true;
    this.#rounds = 0;
    void resolved.then(this.#round);
  }

  readonly #round = (): void => {
    this.#quietRounds += 1;
    this.#rounds += 1;
    if (this.#quietRounds < quietRoundsMost && this.#rounds < roundsMost) {
      void resolved.then(this.#round);
      return;
    }
    this.#waiting = false;
    this.#run();
  };
}
