/**
 * The order in which the calls of one holding start: that in which they came. With `serial`, a command starts when
 * the one before it is settled, so that effects keep that order too; queries and signals wait for no end, only for
 * their turn to start.
 *
 * Source: design "Held objects: Parking"; D47.
 */

interface Waiting {
  readonly exclusive: boolean;
  start(): Promise<unknown>;
}

export class StartOrder {
  readonly #serial: boolean;
  readonly #waiting: Waiting[] = [];
  #exclusiveRuns = false;
  #scheduled = false;

  constructor(serial: boolean) {
    this.#serial = serial;
  }

  /** Runs `work` in its turn, never inside this call. */
  start<T>(command: boolean, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = async (): Promise<void> => {
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.push({ exclusive: this.#serial && command, start });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#startThoseThatMay();
    });
  }

  #startThoseThatMay(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (next.exclusive && this.#exclusiveRuns) return;
      this.#waiting.shift();
      const ended = next.start();
      if (!next.exclusive) continue;
      this.#exclusiveRuns = true;
      void ended.then(() => {
        this.#exclusiveRuns = false;
        this.#schedule();
      });
    }
  }
}
