/**
 * The order in which the calls of one holding start: that in which they came. A call has started when its handler was
 * called, or when it is known that none will be: between the two may lie a look into a store. With `serial`, a command starts when
 * the one before it is settled, so that effects keep that order too; queries and signals wait for no end, only for
 * their turn to start. A command that nobody waits for any more goes on, and keeps its turn until its handler has ended.
 *
 * Source: design "Held objects: Parking"; D47.
 */

interface Waiting {
  readonly exclusive: boolean;
  start(started: () => void): Promise<unknown>;
}

/** What work says of its turn: the turn lasts until this is over, also where the work ends before. */
export type UntilOver = (over: Promise<unknown>) => void;

/** Costs a tenth of `queueMicrotask`, which Node wraps in a resource of its own each time. */
const resolved = Promise.resolve();

export class StartOrder {
  readonly #serial: boolean;
  readonly #waiting: Waiting[] = [];
  #exclusiveRuns = false;
  /** One was given its turn, and has not started yet. */
  #starting = false;
  #scheduled = false;

  constructor(serial: boolean) {
    this.#serial = serial;
  }

  /**
   * Runs `work` in its turn, never inside this call.
   *
   * @param work - calls `started` once the next may start; its end says so too.
   */
  start<T>(command: boolean, work: (started: () => void, until: UntilOver) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = async (started: () => void): Promise<void> => {
        let over: Promise<unknown> | undefined;
        const until: UntilOver = (its) => {
          over = its;
        };
        try {
          resolve(await work(started, until));
        } catch (error) {
          reject(error);
        }
        if (this.#serial) await over?.catch(() => undefined);
      };
      this.#waiting.push({ exclusive: this.#serial && command, start });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    void resolved.then(this.#startScheduled);
  }

  readonly #startScheduled = (): void => {
    this.#scheduled = false;
    this.#startThoseThatMay();
  };

  #startThoseThatMay(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#starting || (next.exclusive && this.#exclusiveRuns)) return;
      this.#waiting.shift();
      this.#starting = true;
      let waits = true;
      const started = (): void => {
        if (!waits) return;
        waits = false;
        this.#starting = false;
        if (this.#waiting.length > 0) this.#schedule();
      };
      if (next.exclusive) this.#exclusiveRuns = true;
      void next.start(started).then(() => {
        if (next.exclusive) this.#exclusiveRuns = false;
        started();
        if (next.exclusive && this.#waiting.length > 0) this.#schedule();
      });
    }
  }
}
