/**
 * The reasons that a server gives: code, the mark of the answer, what happened, and what to do next. See
 * `reasons.ts`.
 */
import { Code } from "@connectrpc/connect";
import { errorOf, type HoldfastError, type HoldfastErrorInit } from "./errors.ts";
import type { Mark, ReasonInfo, ServerReason } from "./reasons.ts";
import { tooLarge } from "./too-large.ts";

export interface ServerReasonInfo extends ReasonInfo {
  /** What the answer says of a once-command. */
  readonly mark: Mark;
}

function info(code: Code, mark: Mark, text: string, advice: string): ServerReasonInfo {
  return { code, mark, text, advice };
}

export const serverReasons: Readonly<Record<ServerReason, ServerReasonInfo>> = {
  CALL_ID_MISSING: info(
    Code.InvalidArgument,
    "none",
    "this command needs a call ID",
    "Send the header holdfast-call with 16 random bytes in base64url, the same in every try of the call.",
  ),
  CALL_ID_MALFORMED: info(
    Code.InvalidArgument,
    "none",
    "the header holdfast-call cannot be read",
    "Send 16 to 128 characters of A-Z, a-z, 0-9, - and _, alone or as the structured item of docs/wire.md.",
  ),
  CALL_ID_REUSED: info(
    Code.InvalidArgument,
    "unknown",
    "the call ID belongs to another method or another request",
    "Make a fresh call ID for each call, and send the same request in every try of it.",
  ),
  CALL_STALE: info(
    Code.FailedPrecondition,
    "unknown",
    "the client said earlier that it has the outcome of this call",
    "This late copy ran nothing; the request before it may have. Look whether it took effect before making a new call.",
  ),
  CALL_FORGOTTEN: info(
    Code.FailedPrecondition,
    "unknown",
    "the server can no longer know whether this call ran, so it did not run it",
    "Look whether the command took effect, then make a new call if it did not.",
  ),
  CALLER_CHANGED: info(
    Code.FailedPrecondition,
    "unknown",
    "the caller is another one than at the first try of this call",
    "Sign in as the first caller again, or look whether the command took effect and make a new call.",
  ),
  OUTCOME_UNKNOWN: info(
    Code.Aborted,
    "unknown",
    "the effect was begun and the server stopped before it knew how it ended",
    "Look in the other system whether it took effect; its idempotency key is the call ID.",
  ),
  ALREADY_RAN: info(
    Code.AlreadyExists,
    "ran",
    "the command ran, and its reply was not kept",
    "Read the result with a query.",
  ),
  REPLY_TOO_LARGE: info(
    Code.ResourceExhausted,
    "refused",
    "the reply is larger than the journal keeps, so the command was rolled back",
    "Let the command return less, or annotate it with keep: MARKER.",
  ),
  IN_PROGRESS: info(
    Code.Aborted,
    "later",
    "the same call is running",
    "Try again with the same call ID; the answer will be the outcome of that run.",
  ),
  SUPERSEDED: info(
    Code.Aborted,
    "later",
    "a newer try of the same call waits in place of this one",
    "Nothing: the newer try gets the outcome.",
  ),
  JOURNAL_FULL: info(
    Code.ResourceExhausted,
    "later",
    "the caller has as many kept calls as it may",
    "Try later, or raise the quota of the store.",
  ),
  OVERLOADED: info(Code.ResourceExhausted, "later", "the server has more work than it can do", "Try later."),
  DRAINING: info(
    Code.Unavailable,
    "later",
    "the server is closing",
    "Try again: another server, or the same one after its start, takes the call.",
  ),
  BAD_PARAMS: info(
    Code.InvalidArgument,
    "none",
    "the header holdfast-params does not name an object",
    "Send the object's params as JSON in ASCII.",
  ),
  NO_SUCH_METHOD: info(
    Code.Unimplemented,
    "none",
    "the server does not have this method",
    "Check the server's address and that it implements this version of the schema.",
  ),
  BUILD_REFUSED: info(
    Code.FailedPrecondition,
    "none",
    "the server does not accept this build",
    "Update the program.",
  ),
  SIGN_IN_REFUSED: info(
    Code.Unauthenticated,
    "none",
    "the server does not accept this sign-in",
    "Sign in again.",
  ),
  TOO_LARGE: { ...tooLarge, mark: "none" },
};

/** Whether it is one of these: what a server throws, and what it reads from an error of another server. */
export function isServerReason(reason: string): reason is ServerReason {
  return Object.hasOwn(serverReasons, reason);
}

/**
 * The error of a server's reason.
 *
 * @param what - what happened, in place of the reason's own sentence.
 */
export function serverError(
  reason: ServerReason,
  what?: string,
  init: HoldfastErrorInit = {},
): HoldfastError {
  return errorOf(reason, serverReasons[reason], what, init);
}
