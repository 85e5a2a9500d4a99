/** The outbox's own errors: what a program reads when a command waits, does not fit, or leaves unsent. */
import { Code } from "@connectrpc/connect";
import { HoldfastError, reasonError } from "../base/errors.ts";
import { type ClientReason, reasons } from "../base/reasons.ts";
import { type Entry, methodPath } from "./entry.ts";
import type { Fate } from "./fate.ts";

/** A call ends, and its command stays. */
export function waitsError(error: HoldfastError, fate: Fate, callId: string): HoldfastError {
  const until = fate === "pauses" ? "for a sign-in that the server accepts" : "for the server";
  return reasonError("WAITS_IN_OUTBOX", `the command waits in the outbox ${until}: ${withoutAdvice(error)}`, {
    outcome: "in-outbox",
    callId,
    tries: error.tries,
    progress: error.progress,
    cause: error,
  });
}

/** A call ends that has sent nothing, and another process has sent its command, or is about to. */
export function elsewhereError(error: HoldfastError, callId: string): HoldfastError {
  const { reason, code, details, tries, progress } = error;
  const text = `${withoutAdvice(error)}. Another process has sent the command: ask link.outbox.settled for its outcome`;
  return new HoldfastError(text, {
    ...{ reason, code, details, tries, progress, callId },
    outcome: "unknown",
    cause: error,
  });
}

/** There is no server, as the call before this one has found: what that says of this one. */
export function noServerError(found: HoldfastError): HoldfastError {
  return reasonError("NO_SERVER", withoutAdvice(found), { outcome: "not-run", cause: found.cause });
}

/** What happened alone: what to do about it is another thing now. */
function withoutAdvice({ rawMessage, reason }: HoldfastError): string {
  // A server's own error comes as it is: what its words advise is not known here.
  if (reason === undefined || !Object.hasOwn(reasons, reason)) return rawMessage;
  const end = `. ${reasons[reason as ClientReason].advice}`;
  return rawMessage.endsWith(end) ? rawMessage.slice(0, -end.length) : rawMessage;
}

export function fullError(why: string, callId: string): HoldfastError {
  return reasonError("OUTBOX_FULL", `${reasons.OUTBOX_FULL.text}: ${why}`, { callId, outcome: "not-run" });
}

type Named = Pick<Entry, "service" | "method" | "madeAtMs" | "stamp">;

export function expiredError(entry: Named): HoldfastError {
  return reasonError("EXPIRED", `${reasons.EXPIRED.text}: ${nameOf(entry)}`, {
    callId: entry.stamp.callId,
    tries: entry.stamp.tries,
    outcome: "expired",
  });
}

export function droppedError(entry: Named): HoldfastError {
  return new HoldfastError(`taken out of the outbox by the program: ${nameOf(entry)}`, {
    callId: entry.stamp.callId,
    tries: entry.stamp.tries,
    outcome: entry.stamp.firstSent === undefined ? "not-run" : "unknown",
  });
}

function nameOf(entry: Named): string {
  return `${methodPath(entry)} of ${new Date(entry.madeAtMs).toISOString()}`;
}

/** The server did not accept the token of a call: another one may do. */
export function isSignInRefused({ code, reason }: HoldfastError): boolean {
  return code === Code.Unauthenticated && reason !== "SIGN_IN_GONE";
}
