/**
 * The errors that a call ends with: each says why, which of five outcomes is true, how far the call got, and
 * what the last trouble was.
 *
 * Source: design "The API of a call"; reliability decision D38.
 */
import { Code, type ConnectError } from "@connectrpc/connect";
import { errorOf, HoldfastError, type Progress, reasonError, reasonFrom } from "../base/errors.ts";
import { type ClientReason, type Outcome, reasons } from "../base/reasons.ts";
import type { TryEnd } from "./outcome.ts";
import { SignInGone } from "./sign-in.ts";

/** Why a call's own signal aborts, when it is not the link that ends it. */
export const budgetEnded = Symbol("the budget ended");
export const callerAborted = Symbol("the caller aborted");

/** What is known of a call when it ends. */
export interface CallFacts {
  readonly callId: string | undefined;
  readonly tries: number;
  readonly progress: Progress;
  readonly budgetMs: number;
  readonly mayHaveRun: boolean;
  /** What ended the last try. */
  readonly lastFault: Error | undefined;
}

/** The error of a call that one of its tries ended. */
export function errorOfTry(
  end: Exclude<TryEnd, { kind: "reply" }>,
  outcome: Outcome,
  reason: ClientReason | undefined,
  call: CallFacts,
): HoldfastError {
  const facts = { callId: call.callId, tries: call.tries, progress: call.progress, outcome };
  const cause = end.kind === "connection-fault" ? end.fault : end.error;
  if (reason === undefined && cause instanceof Error && "rawMessage" in cause) {
    return serverError(cause as ConnectError, facts);
  }
  const name = reason ?? "NO_REPLY";
  const what = cause instanceof Error ? `${reasons[name].text}: ${rawMessage(cause)}` : undefined;
  return reasonError(name, what, { ...facts, cause });
}

/** The error of a call that something else ended: its budget, its caller, its link, its sign-in. */
export function errorOfStop(
  stop: unknown,
  call: CallFacts,
  trouble: string | undefined,
  abortReason: unknown,
): unknown {
  const outcome = call.mayHaveRun ? "unknown" : "not-run";
  const facts = { callId: call.callId, tries: call.tries, progress: call.progress, outcome } as const;
  if (stop === budgetEnded) {
    return reasonError("BUDGET_ENDED", budgetText(call, trouble), { ...facts, cause: call.lastFault });
  }
  if (stop === callerAborted) return reasonError("ABORTED", undefined, { ...facts, cause: abortReason });
  if (stop instanceof SignInGone) {
    return reasonError("SIGN_IN_GONE", `${reasons.SIGN_IN_GONE.text}: ${stop.message}`, {
      ...facts,
      cause: stop,
    });
  }
  // The link's own end: the same words for all its calls, and what is true of this one.
  if (stop instanceof HoldfastError) {
    return new HoldfastError(stop.rawMessage, {
      ...facts,
      reason: stop.reason,
      code: stop.code,
      details: stop.details,
      cause: stop.cause ?? stop,
    });
  }
  return stop;
}

/** A repeat would go in the name of another person than the first try may have run for. */
export function ownerlessError(call: CallFacts): HoldfastError {
  const { callId, tries, progress, lastFault: cause } = call;
  const what =
    "another person may have signed in since this command was sent, and no answer has said whose it is";
  const advice = "Look with a query whether it took effect. If not, make a new call.";
  const info = { code: Code.FailedPrecondition, text: what, advice };
  return errorOf("CALLER_CHANGED", info, undefined, { callId, tries, progress, cause, outcome: "unknown" });
}

/** The server's own error, word for word, with what the link knows of the call. */
function serverError(error: ConnectError, facts: Partial<HoldfastError>): HoldfastError {
  return new HoldfastError(error.rawMessage, {
    ...facts,
    reason: reasonFrom(error),
    code: error.code,
    metadata: error.metadata,
    details: error.details,
    cause: error,
  });
}

function budgetText(call: CallFacts, trouble: string | undefined): string {
  const tries = call.tries === 1 ? "1 try" : `${call.tries} tries`;
  const outcome = call.mayHaveRun ? "it may have run" : "it did not run";
  return `${trouble ?? reasons.BUDGET_ENDED.text} (budget of ${call.budgetMs} ms, ${tries}, ${outcome})`;
}

function rawMessage(error: Error): string {
  return "rawMessage" in error && typeof error.rawMessage === "string" ? error.rawMessage : error.message;
}
