/** One piece of work after the other, in the order in which they came. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when all before it have ended, well or not. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    this.#last = turn;
    return turn;
  }
}
