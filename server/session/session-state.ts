/**
 * A session's life as a pure machine. Instants are {@link UpTime}.
 *
 * | from | event | to |
 * | --- | --- | --- |
 * | present, quiet | sign | present |
 * | present | round, a third of gone_after without a sign | quiet |
 * | present, quiet | round, gone_after without a sign | gone |
 * | gone | sign, round | gone, the same: what is done about it runs |
 * | gone | undone | quiet, and not gone again for a while |
 * | present, quiet | undone | the same |
 *
 * Source: design "Sessions"; reliability decision D52, invariant A1.
 */
export type SessionState =
  | { readonly kind: "present"; readonly lastSeenMs: number }
  /** Signs of life are missing, and it may still be there. */
  | {
      readonly kind: "quiet";
      readonly lastSeenMs: number;
      /** It is not looked at before this: what was to be done about it failed a moment ago. */
      readonly heldUntilMs?: number;
    }
  | { readonly kind: "gone"; readonly lastSeenMs: number };

export type SessionEvent =
  /** A call or a heartbeat of the session. */
  | { readonly kind: "sign"; readonly nowMs: number }
  /** The detector looks. */
  | { readonly kind: "round"; readonly nowMs: number; readonly goneAfterMs: number }
  /** What is done about a gone session failed, and nothing of it stands. */
  | { readonly kind: "undone"; readonly nowMs: number };

/** After a failure, what is done about a gone session is tried again when this has passed. */
export const undoneWaitMs = 60_000;

/** The part of gone_after without a sign after which a session counts as quiet: two heartbeats, as they are set. */
const quietPart = 1 / 3;

export function nextSessionState(state: SessionState, event: SessionEvent): SessionState {
  switch (event.kind) {
    case "sign":
      return state.kind === "gone" ? state : { kind: "present", lastSeenMs: event.nowMs };
    case "round":
      return looked(state, event.nowMs, event.goneAfterMs);
    case "undone":
      if (state.kind !== "gone") return state;
      return { kind: "quiet", lastSeenMs: state.lastSeenMs, heldUntilMs: event.nowMs + undoneWaitMs };
  }
}

function looked(state: SessionState, nowMs: number, goneAfterMs: number): SessionState {
  if (state.kind === "gone") return state;
  const { lastSeenMs } = state;
  const silentMs = nowMs - lastSeenMs;
  const held = state.kind === "quiet" && state.heldUntilMs !== undefined && nowMs < state.heldUntilMs;
  if (silentMs >= goneAfterMs && !held) return { kind: "gone", lastSeenMs };
  if (state.kind === "present" && silentMs > goneAfterMs * quietPart) return { kind: "quiet", lastSeenMs };
  return state;
}
