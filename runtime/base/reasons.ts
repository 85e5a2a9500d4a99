/**
 * The reasons why a call fails: their numbers, and of those that a client finds by itself the code, what
 * happened and what to do next. Those that a server gives are in `server-reasons.ts`, with which a browser need
 * not be loaded: their texts come with the error; those of streams and held objects in `live-reasons.ts`. docs/errors.md and errors.proto list the same ones; a test
 * holds them together.
 *
 * Source: design "What counts as the server's answer", "The API of a call".
 */
import { Code } from "@connectrpc/connect";
import type { Reason as Wire } from "../../gen/holdfast/v1/errors_pb.ts";

/** The name of a reason, as in errors.proto without its prefix. */
export type Reason = Exclude<keyof typeof Wire, "UNSPECIFIED">;

/** Those that only a server gives. */
export type ServerReason =
  | "CALL_ID_MISSING"
  | "CALL_ID_MALFORMED"
  | "CALL_ID_REUSED"
  | "CALL_STALE"
  | "CALL_FORGOTTEN"
  | "CALLER_CHANGED"
  | "OUTCOME_UNKNOWN"
  | "ALREADY_RAN"
  | "REPLY_TOO_LARGE"
  | "IN_PROGRESS"
  | "SUPERSEDED"
  | "JOURNAL_FULL"
  | "OVERLOADED"
  | "DRAINING"
  | "BAD_PARAMS"
  | "NO_SUCH_METHOD"
  | "BUILD_REFUSED"
  | "SIGN_IN_REFUSED"
  | "TOO_LARGE";

/** Those of streams and held objects. */
export type LiveReason =
  | "NOT_READY"
  | "RELEASED"
  | "LAGGED"
  | "PARK_TIMEOUT"
  | "TOO_MANY_PARKED"
  | "NO_SUCH_MEMBER"
  | "ITEMS_LOST";

/** Those that a client finds by itself when it calls. */
export type ClientReason = Exclude<Reason, ServerReason | LiveReason>;

/**
 * What an answer to a once-command says of the command, in the header `holdfast-settled`:
 * - `ran`, `refused`: the journal holds this outcome;
 * - `unknown`: the journal will never know more;
 * - `none`: stopped before the journal, and the same request would be stopped again;
 * - `later`: a server fault, worth a new try.
 */
export type Mark = "ran" | "refused" | "unknown" | "none" | "later";

/** How a call that failed stands: which of these is true is part of every error. */
export type Outcome = "refused" | "not-run" | "unknown" | "in-outbox" | "expired";

export interface ReasonInfo {
  readonly code: Code;
  /** What happened, in a sentence without its full stop. */
  readonly text: string;
  /** What to do next. */
  readonly advice: string;
}

export function info(code: Code, text: string, advice: string): ReasonInfo {
  return { code, text, advice };
}

export const reasons: Readonly<Record<ClientReason, ReasonInfo>> = {
  BUDGET_ENDED: info(
    Code.DeadlineExceeded,
    "the call's budget ended without an answer",
    "Call again, or give it a larger budget.",
  ),
  ABORTED: info(Code.Canceled, "the call was aborted", "Nothing: the program asked for it."),
  NO_REPLY: info(
    Code.Unavailable,
    "no answer came, and this call is sent at most once",
    "Look whether it took effect before calling again.",
  ),
  NO_SERVER: info(
    Code.Unavailable,
    "no server listens at this address of this machine",
    "Start the server, or check the port.",
  ),
  NOT_HOLDFAST: info(
    Code.FailedPrecondition,
    "the answer does not carry the header holdfast-server, so nothing keeps a repeat from running twice",
    'Three causes: the server is a plain Connect server (give linkOf server: "plain"), CORS hides the header (expose it: cors of createServer does), or a proxy strips it.',
  ),
  RETRY_LATER: info(
    Code.Unavailable,
    "the server asked for a longer wait than the budget has left",
    "Call again after that wait.",
  ),
  LINK_CLOSED: info(Code.Canceled, "the link is closed", "Make a new link with linkOf."),
  SIGN_IN_GONE: info(Code.Unauthenticated, "the sign-in is gone", "Sign in, then call link.signIn()."),
  WAITS_IN_OUTBOX: info(
    Code.Unavailable,
    "the command waits in the outbox",
    "It will be sent when the server is back; link.outbox shows it.",
  ),
  OUTBOX_FULL: info(
    Code.ResourceExhausted,
    "the outbox has no room",
    "Nothing was sent. Send or drop entries of link.outbox.",
  ),
  EXPIRED: info(
    Code.DeadlineExceeded,
    "the command waited in the outbox for too long and was not sent again",
    "Look whether it took effect, then make a new call if it did not.",
  ),
  PROGRAM_FAILED: info(
    Code.Unknown,
    "an interceptor or the token source of this program failed",
    "The cause says where.",
  ),
};

/** As in errors.proto; written here too, since a browser need not load the schema for them. */
const numbers: Readonly<Record<Reason, number>> = {
  CALL_ID_MISSING: 1,
  CALL_ID_MALFORMED: 2,
  CALL_ID_REUSED: 3,
  CALL_STALE: 4,
  CALL_FORGOTTEN: 5,
  CALLER_CHANGED: 6,
  OUTCOME_UNKNOWN: 7,
  ALREADY_RAN: 8,
  REPLY_TOO_LARGE: 9,
  IN_PROGRESS: 10,
  SUPERSEDED: 11,
  JOURNAL_FULL: 12,
  OVERLOADED: 13,
  DRAINING: 14,
  BAD_PARAMS: 15,
  NO_SUCH_METHOD: 16,
  BUILD_REFUSED: 17,
  SIGN_IN_REFUSED: 18,
  TOO_LARGE: 19,
  BUDGET_ENDED: 40,
  ABORTED: 41,
  NO_REPLY: 42,
  NO_SERVER: 43,
  NOT_HOLDFAST: 44,
  RETRY_LATER: 45,
  LINK_CLOSED: 46,
  SIGN_IN_GONE: 47,
  WAITS_IN_OUTBOX: 48,
  OUTBOX_FULL: 49,
  EXPIRED: 50,
  PROGRAM_FAILED: 51,
  NOT_READY: 60,
  RELEASED: 61,
  LAGGED: 62,
  PARK_TIMEOUT: 63,
  TOO_MANY_PARKED: 64,
  NO_SUCH_MEMBER: 65,
  ITEMS_LOST: 66,
};

/** Every reason's name. */
export const reasonNames = Object.keys(numbers) as readonly Reason[];

/** A reason's number on the wire. */
export function reasonNumber(reason: Reason): number {
  return numbers[reason];
}

/** The reason of a number on the wire; undefined for one that this version does not know. */
export function reasonOf(number: number): Reason | undefined {
  return reasonNames.find((name) => numbers[name] === number);
}
