/**
 * Abort signals without the leaks: every listener goes when what it waited for is over, since a caller's
 * signal may outlive thousands of calls.
 */

/**
 * The promise's result, unless the signal aborts first: then a rejection with the signal's reason. What the
 * promise does afterwards is of no interest to anybody, and is not left unhandled.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const aborted = (): void => {
      const reason: unknown = signal.reason;
      reject(reason);
    };
    if (signal.aborted) {
      promise.catch(() => undefined);
      aborted();
      return;
    }
    signal.addEventListener("abort", aborted, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener("abort", aborted);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener("abort", aborted);
        reject(error);
      },
    );
  });
}

/** Calls `fn` when the signal aborts, or at once when it has; gives a function that forgets it. */
export function onAbort(signal: AbortSignal | undefined, fn: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => undefined;
  const listener = (): void => fn(signal.reason);
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}
