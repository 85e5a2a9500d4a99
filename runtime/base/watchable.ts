/**
 * A value and its changes, in the three ways in which programs want them: read it, be called, or loop.
 *
 * Source: design "Architecture: Public names".
 */

/** What a program sees of a value that changes. Fits React's `useSyncExternalStore` as it is. */
export interface Watchable<T> extends AsyncIterable<T> {
  /** The present value. */
  readonly value: T;
  /** The same, bound: `useSyncExternalStore(w.subscribe, w.get)`. */
  readonly get: () => T;
  /** Calls `fn` at every change from now on, until the returned function is called. */
  readonly subscribe: (fn: (value: T) => void) => () => void;
  /**
   * The present value, then every change in order. A loop that is slow has at most 64 changes waiting; beyond,
   * the oldest goes. It ends when the owner closes.
   */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined>;
}

/** How many changes wait for a loop that is slow. */
const waitingCountMost = 64;

/** The owner's side of a {@link Watchable}. */
export class Source<T> implements Watchable<T> {
  #value: T;
  #closed = false;
  #dropWaiting = false;
  readonly #subscribers = new Set<(value: T) => void>();
  /** Of the loops; most values have none. */
  #closers: Set<() => void> | undefined;
  /** Changes that a subscriber made while another change is being told: theirs is the next turn. */
  readonly #untold: T[] = [];
  #telling = false;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  readonly get = (): T => this.#value;

  readonly subscribe = (fn: (value: T) => void): (() => void) => {
    // A wrapper of its own, so that one function subscribed twice is called twice and removed once.
    const subscriber = (value: T): void => fn(value);
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  };

  /**
   * Sets the value and tells everybody; a subscriber that throws keeps nobody else from hearing, and one that
   * sets the value itself lets everybody hear of this change first.
   */
  set(value: T): void {
    if (this.#closed) return;
    this.#value = value;
    this.#untold.push(value);
    if (this.#telling) return;
    this.#telling = true;
    while (this.#untold.length > 0) this.#tell(this.#untold.shift() as T);
    this.#telling = false;
    this.#endIfClosed();
  }

  /**
   * No more changes: loops end, after those that are being told.
   *
   * @param options - `dropWaiting`: loops end without the changes that they have not taken yet.
   */
  close(options: { readonly dropWaiting?: boolean } = {}): void {
    this.#closed = true;
    this.#dropWaiting = options.dropWaiting === true;
    this.#endIfClosed();
  }

  #tell(value: T): void {
    for (const subscriber of [...this.#subscribers]) {
      // One of those before it may have removed it.
      if (!this.#subscribers.has(subscriber)) continue;
      try {
        subscriber(value);
      } catch (error) {
        // The program's own mistake: shown as one, and not made ours.
        reportError(error);
      }
    }
  }

  #endIfClosed(): void {
    if (!this.#closed || this.#telling) return;
    for (const close of [...(this.#closers ?? [])]) close();
    this.#subscribers.clear();
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    const waiting: T[] = [this.#value];
    /** Reads that wait: a program may ask for several at once. */
    const reads = new Set<() => void>();
    const wake = (): void => {
      for (const read of reads) read();
      reads.clear();
    };
    let ended = this.#closed;
    const end = (): void => {
      ended = true;
      if (this.#dropWaiting) waiting.length = 0;
      unsubscribe();
      this.#closers?.delete(end);
      wake();
    };
    const unsubscribe = this.subscribe((value) => {
      if (waiting.push(value) > waitingCountMost) waiting.shift();
      wake();
    });
    if (ended) unsubscribe();
    else (this.#closers ??= new Set()).add(end);
    return {
      next: async () => {
        while (waiting.length === 0 && !ended) {
          await new Promise<void>((resolve) => reads.add(resolve));
        }
        // A value of T may be undefined, so the length is what counts.
        if (waiting.length > 0) return { done: false, value: waiting.shift() as T };
        return { done: true, value: undefined };
      },
      return: async () => {
        waiting.length = 0;
        end();
        return { done: true, value: undefined };
      },
    };
  }
}

/** Throws where nobody catches, as an event listener's throw does, once the present work is over. */
function reportError(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
