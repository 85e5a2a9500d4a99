/**
 * The one rule for a new try: what follows the end of a try. It only decides; `call.ts` obeys.
 *
 * | end | next |
 * | --- | --- |
 * | reply | done |
 * | connection fault | again through the gate, on a new HTTP client; a call that is sent at most once only if nothing was sent |
 * | server fault | again after a wait, on the same client; at most once: the end |
 * | server fault with a hint beyond the budget, or "never" | the end, now |
 * | unauthenticated | once per call: a fresh token; then the end |
 * | refusal, not holdfast, the program's own fault | the end |
 *
 * A heartbeat's tick ends at its first fault: the next tick is the new try.
 *
 * Source: design "One rule for a new try".
 */
import type { ClientReason, Mark, Outcome } from "../base/reasons.ts";
import type { TryEnd } from "./outcome.ts";

export type Next =
  /** Again as soon as the gate lets it; the link's HTTP client is swapped. */
  | { readonly kind: "reconnect" }
  /** Again after a wait of the growing kind, and at least `hintMs`. */
  | { readonly kind: "wait"; readonly hintMs: number; readonly throttled: boolean }
  /** Again with a fresh token. */
  | { readonly kind: "refresh" }
  /** The call is over. */
  | { readonly kind: "end"; readonly outcome: Outcome; readonly reason: ClientReason | undefined };

/** What the rule looks at besides the try. */
export interface CallFacts {
  /** `repeatable`: queries, signals and once-commands. */
  readonly delivery: "repeatable" | "atMostOnce";
  /** Whether the kind's effects are kept by a journal: then only a marked answer settles. */
  readonly once: boolean;
  readonly budgetLeftMs: number;
  /** Whether a fresh token was asked for already. */
  readonly refreshed: boolean;
  /** Whether there is somebody to ask for a token. */
  readonly canRefresh: boolean;
  /** Whether an earlier try, or this one, may have been worked on. */
  readonly mayHaveRun: boolean;
  /** Nothing listens at a loopback address that never answered this process. */
  readonly noServer: boolean;
  /** A tick of a heartbeat. Absent: false. */
  readonly tick?: boolean;
}

export function nextStep(end: Exclude<TryEnd, { kind: "reply" }>, facts: CallFacts): Next {
  switch (end.kind) {
    case "connection-fault":
      if (facts.tick === true) return over(end.fault.sent ? "unknown" : "not-run", "NO_REPLY");
      if (facts.noServer) return over(notSettled(facts), "NO_SERVER");
      if (facts.delivery === "atMostOnce" && end.fault.sent) return over("unknown", "NO_REPLY");
      return { kind: "reconnect" };
    case "server-fault":
      return afterServerFault(end, facts);
    case "unauthenticated":
      if (facts.canRefresh && !facts.refreshed) return { kind: "refresh" };
      return over(refusedOutcome(end.mark, facts), undefined);
    case "refusal":
      return over(refusedOutcome(end.mark, facts), undefined);
    case "not-holdfast":
      return over("unknown", "NOT_HOLDFAST");
    case "program-fault":
      return over(end.sent ? "unknown" : notSettled(facts), "PROGRAM_FAILED");
  }
}

function afterServerFault(end: Extract<TryEnd, { kind: "server-fault" }>, facts: CallFacts): Next {
  if (end.never || facts.tick === true) return over(notSettled(facts), undefined);
  if (facts.delivery === "atMostOnce" && end.mayHaveRun) {
    // Most of these were refused before the handler; only the code can say so, and it does not prove it.
    return over("unknown", undefined);
  }
  const hintMs = end.hintMs ?? 0;
  if (hintMs > facts.budgetLeftMs) return over(notSettled(facts), "RETRY_LATER");
  return { kind: "wait", hintMs, throttled: end.throttled };
}

/** What a "no" says of the call, by its mark. */
function refusedOutcome(mark: Mark | undefined, facts: CallFacts): Outcome {
  switch (mark) {
    case "refused":
      return "refused";
    case "ran":
    case "unknown":
      return "unknown";
    case "none":
      return notSettled(facts);
    case "later":
    case undefined:
      // A query or a signal: its "no" is the answer. A command's is one too, unless an earlier try may have run.
      return facts.once ? "unknown" : "refused";
  }
}

function notSettled(facts: CallFacts): Outcome {
  return facts.mayHaveRun ? "unknown" : "not-run";
}

function over(outcome: Outcome, reason: ClientReason | undefined): Next {
  return { kind: "end", outcome, reason };
}
