/**
 * The reasons of streams and held objects, apart from those of calls, so that a page that only calls does not load
 * them. See `reasons.ts`.
 */
import { Code } from "@connectrpc/connect";
import { errorOf, type HoldfastError, type HoldfastErrorInit } from "./errors.ts";
import { info, type LiveReason, type ReasonInfo } from "./reasons.ts";

export const liveReasons: Readonly<Record<LiveReason, ReasonInfo>> = {
  NOT_READY: info(Code.FailedPrecondition, "the value has not come yet", "Wait for it with a watch."),
  RELEASED: info(Code.Canceled, "the reference is released", "Hold the object again."),
  LAGGED: info(Code.Unavailable, "the reader was too slow", "Nothing: the stream goes on from the ring."),
  PARK_TIMEOUT: info(
    Code.Unavailable,
    "the object was not live inside the call's deadline",
    "Call again when the reference is live.",
  ),
  TOO_MANY_PARKED: info(
    Code.ResourceExhausted,
    "too many calls wait for this object",
    "Call again when the reference is live.",
  ),
  NO_SUCH_MEMBER: info(
    Code.InvalidArgument,
    "the variant that the reference has now lacks this member",
    "Look at the reference's variant before calling.",
  ),
  ITEMS_LOST: info(
    Code.DataLoss,
    "the server no longer has items that this stream has not given",
    "Read the present state by a query, then follow the stream again.",
  ),
};

/**
 * The error of a reason of streams and held objects.
 *
 * @param what - what happened, in place of the reason's own sentence.
 */
export function liveError(reason: LiveReason, what?: string, init: HoldfastErrorInit = {}): HoldfastError {
  return errorOf(reason, liveReasons[reason], what, init);
}
