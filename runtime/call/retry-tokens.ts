/**
 * The budget of repeats after server faults. A server that answers "not now" to everybody would otherwise
 * get its load multiplied by the repeats, which keeps it down. A bucket that refills by time bounds them, and
 * an empty one delays a try and never fails its call: calls have budgets for that.
 *
 * Rejected: gRPC's bucket, which refills by successes and ends calls below half. It was measured to fail
 * every call of an outage that is shorter than their budgets.
 *
 * Source: design "No storms".
 */
export interface RetryTokens {
  /** Tokens left at `at`; below zero when tries have been promised tokens that are still to come. */
  readonly left: number;
  /** Ms of the monotonic clock. */
  readonly at: number;
}

export interface RetryRate {
  readonly most: number;
  readonly perSecond: number;
}

/**
 * Takes one token: how long the try waits for it, and what is left. A try that would wait for longer than
 * `waitMsMost` never comes, so it takes none: else calls that have ended would keep later ones waiting.
 */
export function takeToken(
  tokens: RetryTokens,
  now: number,
  rate: RetryRate,
  waitMsMost: number,
): { readonly tokens: RetryTokens; readonly waitMs: number } {
  const refilled = Math.min(rate.most, tokens.left + ((now - tokens.at) / 1000) * rate.perSecond);
  const left = refilled - 1;
  const waitMs = left >= 0 ? 0 : (-left / rate.perSecond) * 1000;
  return { tokens: { left: waitMs > waitMsMost ? refilled : left, at: now }, waitMs };
}
