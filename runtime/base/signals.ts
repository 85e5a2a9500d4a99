/**
 * Abort signals without the leaks: every listener goes when what it waited for is over, since a caller's
 * signal may outlive thousands of calls. All that wait for one signal share one listener on it, since Node
 * takes more than ten for a leak and warns.
 */
import { LateSignal, type Stop } from "./late-signal.ts";

interface Waiting {
  readonly entries: Set<(reason: unknown) => void>;
  readonly stop: () => void;
}

const bySignal = new WeakMap<Stop, Waiting>();

const nothingToForget = (): void => undefined;

/** Calls `fn` when the signal aborts, or at once when it has; gives a function that forgets it. */
export function onAbort(signal: Stop | undefined, fn: (reason: unknown) => void): () => void {
  if (signal === undefined) return nothingToForget;
  if (signal.aborted) {
    fn(signal.reason);
    return nothingToForget;
  }
  if (signal instanceof LateSignal) {
    const heard = (): void => fn(signal.reason);
    signal.addEventListener("abort", heard);
    return () => signal.removeEventListener("abort", heard);
  }
  const { entries, stop } = bySignal.get(signal) ?? listen(signal);
  // A wrapper of its own, so that one function given twice is called twice.
  const entry = (reason: unknown): void => fn(reason);
  entries.add(entry);
  return () => {
    if (entries.delete(entry) && entries.size === 0) stop();
  };
}

function listen(signal: Stop): Waiting {
  const entries = new Set<(reason: unknown) => void>();
  const aborted = (): void => {
    stop(); // not every kind of signal lets its listeners go when it has aborted
    for (const entry of [...entries]) {
      // One of those before it may have made it forgotten.
      if (entries.delete(entry)) entry(signal.reason);
    }
  };
  const stop = (): void => {
    signal.removeEventListener("abort", aborted);
    bySignal.delete(signal);
  };
  const waiting = { entries, stop };
  bySignal.set(signal, waiting);
  signal.addEventListener("abort", aborted);
  return waiting;
}

/**
 * The promise's result, unless the signal aborts first: then a rejection with the signal's reason. What the
 * promise does afterwards is of no interest to anybody, and is not left unhandled.
 */
export function untilAborted<T>(promise: Promise<T>, signal: Stop): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const forget = onAbort(signal, reject);
    promise.then(
      (value) => {
        forget();
        resolve(value);
      },
      (error: unknown) => {
        forget();
        reject(error);
      },
    );
  });
}

/** {@link untilAborted} for one promise after the other, with one listener on the signal for all of them. */
export class WaitsUntilAbort {
  readonly #signal: Stop;
  /** Nobody waits for this signal by it any more. */
  readonly forget: () => void;
  #reject: ((reason: unknown) => void) | undefined;

  constructor(signal: Stop) {
    this.#signal = signal;
    this.forget = onAbort(signal, (reason) => this.#reject?.(reason));
  }

  /** To be called again when the promise before is over. */
  of<T>(promise: Promise<T>): Promise<T> {
    if (this.#signal.aborted) return untilAborted(promise, this.#signal);
    return new Promise<T>((resolve, reject) => {
      this.#reject = reject;
      promise.then(resolve, reject);
    });
  }
}
