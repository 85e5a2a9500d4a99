/**
 * A budget as an instant of the monotonic clock: made once when the call is made, and only looked at after
 * that, so that neither a wait nor a reconnect nor a clock that jumps renews it.
 */
import type { Clock } from "./clock.ts";
import { foreignTimeoutMsMost } from "./constants.ts";

export interface Deadline {
  /** Ms of the monotonic clock; `Infinity` for a call without an end. */
  readonly at: number;
  /** Ms that are left, never below 0. */
  leftMs(): number;
}

export function deadlineAfter(clock: Clock, budgetMs: number): Deadline {
  const at = clock.monotonic() + budgetMs;
  return { at, leftMs: () => Math.max(0, at - clock.monotonic()) };
}

/**
 * The time left as Connect's and gRPC's headers carry it: whole ms, at least 1, at most what their timers
 * take; undefined when there is no end.
 */
export function timeoutHeaderMs(leftMs: number): number | undefined {
  if (leftMs === Number.POSITIVE_INFINITY) return undefined;
  return Math.min(foreignTimeoutMsMost, Math.max(1, Math.ceil(leftMs)));
}

/**
 * The budget of a call: its own, then its method's, then the link's.
 *
 * @throws TypeError for NaN, which is a fault of the program and would otherwise be a call without an end.
 */
export function chooseBudgetMs(
  timeoutMs: number | undefined,
  definitionMs: number | undefined,
  linkMs: number,
): number {
  if (timeoutMs === undefined) return definitionMs ?? linkMs;
  if (Number.isNaN(timeoutMs)) {
    throw new TypeError("timeoutMs is NaN: give a number of ms, or leave it out for the method's budget");
  }
  return timeoutMs > 0 ? timeoutMs : (definitionMs ?? linkMs);
}
