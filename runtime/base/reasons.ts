/**
 * Every reason why a call fails: its code, what it says of the outcome, what happened and what to do next.
 * docs/errors.md and proto/holdfast/v1/errors.proto list the same ones; a test holds the three together.
 *
 * Source: design "What counts as the server's answer", "The API of a call".
 */
import { Code } from "@connectrpc/connect";
import type { Reason as Wire } from "../../gen/holdfast/v1/errors_pb.ts";

/** The name of a reason, as in errors.proto without its prefix. */
export type Reason = Exclude<keyof typeof Wire, "UNSPECIFIED">;

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
  /** Its number in errors.proto. Written here too: a browser need not load the schema's descriptor for it. */
  readonly number: number;
  readonly code: Code;
  /** The mark of the answer; undefined for reasons that a client finds by itself. */
  readonly mark: Mark | undefined;
  /** What happened, in a sentence without its full stop. */
  readonly text: string;
  /** What to do next. */
  readonly advice: string;
}

function info(number: number, code: Code, mark: Mark | undefined, text: string, advice: string): ReasonInfo {
  return { number, code, mark, text, advice };
}

const { InvalidArgument, FailedPrecondition, Aborted, AlreadyExists, ResourceExhausted, Unavailable } = Code;
const { Unimplemented, Unauthenticated, DeadlineExceeded, Canceled, Unknown } = Code;

export const reasons: Readonly<Record<Reason, ReasonInfo>> = {
  CALL_ID_MISSING: info(
    1,
    InvalidArgument,
    "none",
    "this command needs a call ID",
    "Send the header holdfast-call with 16 random bytes in base64url, the same in every try of the call.",
  ),
  CALL_ID_MALFORMED: info(
    2,
    InvalidArgument,
    "none",
    "the header holdfast-call cannot be read",
    "Send 16 to 128 characters of A-Z, a-z, 0-9, - and _, alone or as the structured item of docs/wire.md.",
  ),
  CALL_ID_REUSED: info(
    3,
    InvalidArgument,
    "unknown",
    "the call ID belongs to another method or another request",
    "Make a fresh call ID for each call, and send the same request in every try of it.",
  ),
  CALL_STALE: info(
    4,
    FailedPrecondition,
    "unknown",
    "the client said earlier that it has the outcome of this call",
    "Nothing ran. This is a late copy of an old request; make a new call if it is wanted.",
  ),
  CALL_FORGOTTEN: info(
    5,
    FailedPrecondition,
    "unknown",
    "the server can no longer know whether this call ran, so it did not run it",
    "Look whether the command took effect, then make a new call if it did not.",
  ),
  CALLER_CHANGED: info(
    6,
    FailedPrecondition,
    "unknown",
    "the caller is another one than at the first try of this call",
    "Sign in as the first caller again, or look whether the command took effect and make a new call.",
  ),
  OUTCOME_UNKNOWN: info(
    7,
    Aborted,
    "unknown",
    "the effect was begun and the server stopped before it knew how it ended",
    "Look in the other system whether it took effect; its idempotency key is the call ID.",
  ),
  ALREADY_RAN: info(
    8,
    AlreadyExists,
    "ran",
    "the command ran, and its reply was not kept",
    "Read the result with a query.",
  ),
  REPLY_TOO_LARGE: info(
    9,
    ResourceExhausted,
    "refused",
    "the reply is larger than the journal keeps, so the command was rolled back",
    "Let the command return less, or annotate it with keep: MARKER.",
  ),
  IN_PROGRESS: info(
    10,
    Aborted,
    "later",
    "the same call is running",
    "Try again with the same call ID; the answer will be the outcome of that run.",
  ),
  SUPERSEDED: info(
    11,
    Aborted,
    "later",
    "a newer try of the same call waits in place of this one",
    "Nothing: the newer try gets the outcome.",
  ),
  JOURNAL_FULL: info(
    12,
    ResourceExhausted,
    "later",
    "the caller has as many kept calls as it may",
    "Try later, or raise the quota of the store.",
  ),
  OVERLOADED: info(13, ResourceExhausted, "later", "the server has more work than it can do", "Try later."),
  DRAINING: info(
    14,
    Unavailable,
    "later",
    "the server is closing",
    "Try again: another server, or the same one after its start, takes the call.",
  ),
  BAD_PARAMS: info(
    15,
    InvalidArgument,
    "none",
    "the header holdfast-params does not name an object",
    "Send the object's params as JSON in ASCII.",
  ),
  NO_SUCH_METHOD: info(
    16,
    Unimplemented,
    "none",
    "the server does not have this method",
    "Check the server's address and that it implements this version of the schema.",
  ),
  BUILD_REFUSED: info(
    17,
    FailedPrecondition,
    "none",
    "the server does not accept this build",
    "Update the program.",
  ),
  SIGN_IN_REFUSED: info(
    18,
    Unauthenticated,
    "none",
    "the server does not accept this sign-in",
    "Sign in again.",
  ),
  TOO_LARGE: info(
    19,
    ResourceExhausted,
    "none",
    "the message is larger than its limit",
    "Send less at once, or raise the server's limit.",
  ),

  BUDGET_ENDED: info(
    40,
    DeadlineExceeded,
    undefined,
    "the call's budget ended without an answer",
    "Call again, or give it a larger budget.",
  ),
  ABORTED: info(41, Canceled, undefined, "the call was aborted", "Nothing: the program asked for it."),
  NO_REPLY: info(
    42,
    Unavailable,
    undefined,
    "no answer came, and this call is sent at most once",
    "Look whether it took effect before calling again.",
  ),
  NO_SERVER: info(
    43,
    Unavailable,
    undefined,
    "no server listens at this address of this machine",
    "Start the server, or check the port.",
  ),
  NOT_HOLDFAST: info(
    44,
    FailedPrecondition,
    undefined,
    "the answer does not carry the header holdfast-server, so nothing keeps a repeat from running twice",
    'Three causes: the server is a plain Connect server (give linkOf server: "plain"), CORS hides the header (expose it: cors of createServer does), or a proxy strips it.',
  ),
  RETRY_LATER: info(
    45,
    Unavailable,
    undefined,
    "the server asked for a longer wait than the budget has left",
    "Call again after that wait.",
  ),
  LINK_CLOSED: info(46, Canceled, undefined, "the link is closed", "Make a new link with linkOf."),
  SIGN_IN_GONE: info(
    47,
    Unauthenticated,
    undefined,
    "the sign-in is gone",
    "Sign in, then call link.signIn().",
  ),
  WAITS_IN_OUTBOX: info(
    48,
    Unavailable,
    undefined,
    "the command waits in the outbox",
    "It will be sent when the server is back; link.outbox shows it.",
  ),
  OUTBOX_FULL: info(
    49,
    ResourceExhausted,
    undefined,
    "the outbox has no room",
    "Nothing was sent. Send or drop entries of link.outbox.",
  ),
  EXPIRED: info(
    50,
    DeadlineExceeded,
    undefined,
    "the command waited in the outbox for too long and was not sent again",
    "Look whether it took effect, then make a new call if it did not.",
  ),
  PROGRAM_FAILED: info(
    51,
    Unknown,
    undefined,
    "an interceptor or the token source of this program failed",
    "The cause says where.",
  ),

  NOT_READY: info(
    60,
    FailedPrecondition,
    undefined,
    "the value has not come yet",
    "Wait for it with a watch.",
  ),
  RELEASED: info(61, Canceled, undefined, "the reference is released", "Hold the object again."),
  LAGGED: info(
    62,
    Unavailable,
    undefined,
    "the reader was too slow",
    "Nothing: the stream goes on from the ring.",
  ),
  PARK_TIMEOUT: info(
    63,
    Unavailable,
    undefined,
    "the object was not live inside the call's deadline",
    "Call again when the reference is live.",
  ),
  TOO_MANY_PARKED: info(
    64,
    ResourceExhausted,
    undefined,
    "too many calls wait for this object",
    "Call again when the reference is live.",
  ),
  NO_SUCH_MEMBER: info(
    65,
    InvalidArgument,
    undefined,
    "the variant that the reference has now lacks this member",
    "Look at the reference's variant before calling.",
  ),
};

/** Every reason's name, in the order of the table. */
export const reasonNames = Object.keys(reasons) as readonly Reason[];

/** The reason of a number on the wire; undefined for one that this version does not know. */
export function reasonOf(number: number): Reason | undefined {
  return reasonNames.find((name) => reasons[name].number === number);
}
