/**
 * Signs that the network or the person may be back: a link that is down then tries at once.
 *
 * Source: design "No storms".
 */

/** What a page has of this; workers and servers have less, or nothing. */
export interface WakeTarget {
  addEventListener?(name: string, fn: () => void): void;
  removeEventListener?(name: string, fn: () => void): void;
  readonly document?: {
    readonly visibilityState?: string;
    addEventListener?(name: string, fn: () => void): void;
    removeEventListener?(name: string, fn: () => void): void;
  };
}

/**
 * Calls `fn` when the browser goes online, the page is shown again, or it comes back from the browser's
 * cache or a frozen state. Where nothing tells these, it does nothing.
 *
 * @returns what stops it.
 */
export function onWake(fn: () => void, target: WakeTarget = globalThis): () => void {
  const { document } = target;
  const sign = (): void => fn(); // a handler gets an event; the listener gets nothing
  const shown = (): void => {
    if (document?.visibilityState === "visible") fn();
  };
  const ofWindow = ["online", "pageshow"];
  const ofDocument = ["visibilitychange", "resume"];
  for (const name of ofWindow) target.addEventListener?.(name, sign);
  for (const name of ofDocument) document?.addEventListener?.(name, shown);
  return () => {
    for (const name of ofWindow) target.removeEventListener?.(name, sign);
    for (const name of ofDocument) document?.removeEventListener?.(name, shown);
  };
}
