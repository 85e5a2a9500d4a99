/**
 * The answers that the journal gives of its own, when neither a handler nor what is kept says something.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { retryDetail } from "../../runtime/base/errors.ts";
import type { ServerReason } from "../../runtime/base/reasons.ts";
import { serverError, serverReasons } from "../../runtime/base/server-reasons.ts";
import type { Answer } from "./answer.ts";

/** When a try whose wait has ended should ask again. */
const inProgressRetryMs = 250;
/** A full journal is asked again within this, since a person may raise the quota meanwhile. */
const fullRetryMsMost = 60_000;
const fullRetryMsLeast = 1_000;

/** The answer of a reason, with the reason's mark. */
export function refusal(reason: ServerReason, what?: string, details: ConnectError["details"] = []): Answer {
  const { mark } = serverReasons[reason];
  return { mark, repeat: false, result: { error: serverError(reason, what, { details }) } };
}

/** The caller's quota has no room for the ms given, as far as the store can tell. */
export function journalFull(fullForMs: number): Answer {
  const retryMs = Math.min(fullRetryMsMost, Math.max(fullRetryMsLeast, fullForMs));
  return refusal("JOURNAL_FULL", undefined, [retryDetail(retryMs)]);
}

/** The try's wait ends before the run does. */
export function inProgress(): Answer {
  return refusal("IN_PROGRESS", undefined, [retryDetail(inProgressRetryMs)]);
}

/** The same of a command that is sent at most once: nobody will ask how it ended, and nothing remembers. */
export function runsOn(): Answer {
  const text =
    "the command runs on after the time that its caller gave it, and nobody will tell how it ends. Look whether it took effect before calling again.";
  return { mark: "unknown", repeat: false, result: { error: new ConnectError(text, Code.DeadlineExceeded) } };
}

/** Nothing is kept: the same try may come again. */
export function fault(error: ConnectError): Answer {
  return { mark: "later", repeat: false, result: { error } };
}

/** The client learns the server's time from this very answer, and says in its next try when the call was first sent. */
export function ageUnknown(): Answer {
  const text =
    "the server does not know this call, and its age alone does not say whether it was forgotten. Try again with " +
    "f, the first sending by the time in holdfast-now.";
  const error = new ConnectError(text, Code.Aborted);
  error.details = [retryDetail(0)];
  return fault(error);
}

/** The store did not do what was asked. Whether a write of it stands is found out by the next try. */
export function unavailable(): Answer {
  const text = "the journal's store did not answer. Try again with the same call ID.";
  return fault(new ConnectError(text, Code.Unavailable));
}
