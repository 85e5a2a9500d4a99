/**
 * Finds out that the machine has slept: its timers come late then, or its wall clock has jumped past them. Node
 * tells of neither a sleep nor a network that is back.
 *
 * Source: design "The heartbeat"; reliability decision D45.
 */
import type { Clock, Timer } from "../base/clock.ts";

const tickMs = 5_000;

/**
 * Calls listeners after a sleep. While there is a listener, one timer in the background looks each 5 s; a jump of
 * the wall clock by hand or by the network's time calls them too, which costs a probe.
 */
export function sleepWatch(clock: Clock): (fn: () => void) => () => void {
  const listeners = new Set<() => void>();
  let timer: Timer | undefined;
  const look = (): void => {
    const monotonicMs = clock.monotonic();
    const wallMs = clock.now();
    timer = clock.timer(
      tickMs,
      () => {
        const passedMs = Math.max(clock.monotonic() - monotonicMs, clock.now() - wallMs);
        look();
        // Twice late: a busy machine is late too, but not by a whole tick.
        if (passedMs >= 2 * tickMs) for (const fn of [...listeners]) fn();
      },
      { background: true },
    );
  };
  return (fn) => {
    // A wrapper of its own, so that one function given twice is called twice.
    const listener = (): void => fn();
    listeners.add(listener);
    if (timer === undefined) look();
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      timer?.cancel();
      timer = undefined;
    };
  };
}
