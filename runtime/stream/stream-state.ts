/**
 * The connection of one stream, as a pure machine.
 *
 * A connection *has served* when it gave an item and was open for a moment, or was open for `streamRetryMs`. A
 * stream has one *spare* connect: its connection may end once without anybody seeing it, as long as the next one
 * opens; a connection that has served brings the spare back. So a cut costs nothing, and a server that opens streams
 * and drops them at once meets waits that grow.
 *
 * | from | event | to |
 * | --- | --- | --- |
 * | due | due | connecting |
 * | due | wake | due now, no failures |
 * | connecting | ready | open |
 * | connecting | broken | due after a wait, one failure more; down |
 * | connecting | again | due after `afterMs` or a wait, one failure more; shown as before |
 * | connecting | anew | due now; shown as before |
 * | open | gave | open, an item came |
 * | open | broken by a cut, with the spare | due now, the spare is used; shown as before |
 * | open | broken by silence, with the spare | due now, the spare is used; down, since nothing came for long |
 * | open | broken otherwise | due after a wait, one failure more; down |
 * | open | again, served or with the spare | due after `afterMs`, 0 without; shown as before |
 * | open | again otherwise | due after `afterMs` or a wait, one failure more; shown as before |
 * | any | over | over |
 *
 * Everything else changes nothing.
 *
 * Source: design "Streams: The client".
 */
import { streamRetryMs } from "../base/constants.ts";
import type { StreamState } from "../base/streams.ts";

/** What every phase knows. */
interface Common {
  /** Connections in a row that failed. */
  readonly failures: number;
  /** Whether the next end of a connection may go unseen. */
  readonly spare: boolean;
  /** What the program sees. */
  readonly shown: StreamState;
}

export type StreamPhase =
  /** The next connect comes at this instant of the monotonic clock. */
  | (Common & { readonly kind: "due"; readonly at: number })
  | (Common & { readonly kind: "connecting" })
  | (Common & { readonly kind: "open"; readonly since: number; readonly gave: boolean })
  | { readonly kind: "over"; readonly shown: StreamState };

export type StreamEvent =
  | { readonly kind: "due" }
  /** The network may be back. */
  | { readonly kind: "wake" }
  | { readonly kind: "ready" }
  /** An item came. */
  | { readonly kind: "gave" }
  /** The connection is gone, is silent, or an answer says "not now". `hintMs`: the least wait. */
  | {
      readonly kind: "broken";
      readonly by: "cut" | "silence" | "answer";
      readonly cause: Error;
      readonly hintMs: number;
    }
  /** The server asks to come back. */
  | { readonly kind: "again"; readonly afterMs: number }
  /** Once more with another token. */
  | { readonly kind: "anew" }
  /** The data has ended (no cause), or the stream has. */
  | { readonly kind: "over"; readonly cause: Error | undefined };

/** The two clocks: the one for waits, and the one for people. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function streamPhaseAtFirst({ monotonicMs, wallMs }: Instant): StreamPhase {
  const shown: StreamState = { kind: "connecting", since: wallMs };
  return { kind: "due", at: monotonicMs, failures: 0, spare: true, shown };
}

/** @param waitMs - the wait after so many failures. */
export function nextStreamPhase(
  phase: StreamPhase,
  event: StreamEvent,
  now: Instant,
  waitMs: (failures: number) => number,
): StreamPhase {
  if (phase.kind === "over") return phase;
  if (event.kind === "over") return { kind: "over", shown: { kind: "ended", cause: event.cause } };
  const { failures, spare, shown } = phase;
  switch (phase.kind) {
    case "due":
      if (event.kind === "due") return { kind: "connecting", failures, spare, shown: trying(shown) };
      if (event.kind === "wake") return { ...phase, at: now.monotonicMs, failures: 0 };
      return phase;
    case "connecting":
      if (event.kind === "ready") return opened(phase, now);
      if (event.kind === "broken") return broken(phase, event, now, waitMs);
      if (event.kind === "again") return again(phase, event.afterMs, now, waitMs);
      if (event.kind === "anew") return { kind: "due", at: now.monotonicMs, failures, spare, shown };
      return phase;
    case "open": {
      if (event.kind === "gave") return phase.gave ? phase : { ...phase, gave: true };
      const openMs = now.monotonicMs - phase.since;
      const served = openMs >= (phase.gave ? momentMs : streamRetryMs);
      const its: Common = served ? { failures: 0, spare: true, shown } : phase;
      if (event.kind === "broken") {
        if (event.by === "answer" || !its.spare) return broken(its, event, now, waitMs);
        const seen = event.by === "cut" ? shown : down(shown, event.cause, now, undefined);
        return { kind: "due", at: now.monotonicMs, failures: its.failures, spare: false, shown: seen };
      }
      if (event.kind === "again") {
        if (!its.spare) return again(its, event.afterMs, now, waitMs);
        const used = { failures: its.failures, spare: false, shown };
        return { kind: "due", at: now.monotonicMs + event.afterMs, ...used };
      }
      return phase;
    }
  }
}

/** A server that gives an item and drops the stream at once, each time anew, must not be asked without end. */
const momentMs = 100;

function trying(shown: StreamState): StreamState {
  return shown.kind === "down" ? { ...shown, nextTryAt: undefined } : shown;
}

function opened({ failures, spare, shown }: Common, now: Instant): StreamPhase {
  const seen: StreamState = shown.kind === "open" ? shown : { kind: "open", since: now.wallMs };
  return { kind: "open", failures, spare, since: now.monotonicMs, gave: false, shown: seen };
}

function broken(
  { failures, spare, shown }: Common,
  { cause, hintMs }: Extract<StreamEvent, { kind: "broken" }>,
  now: Instant,
  waitMs: (failures: number) => number,
): StreamPhase {
  const wait = Math.max(hintMs, waitMs(failures + 1));
  const seen = down(shown, cause, now, now.wallMs + wait);
  return { kind: "due", at: now.monotonicMs + wait, failures: failures + 1, spare, shown: seen };
}

function down(shown: StreamState, cause: Error, now: Instant, nextTryAt: number | undefined): StreamState {
  return { kind: "down", since: shown.kind === "down" ? shown.since : now.wallMs, cause, nextTryAt };
}

function again(
  { failures, spare, shown }: Common,
  afterMs: number,
  now: Instant,
  waitMs: (failures: number) => number,
): StreamPhase {
  const wait = afterMs > 0 ? afterMs : waitMs(failures + 1);
  return { kind: "due", at: now.monotonicMs + wait, failures: failures + 1, spare, shown };
}
