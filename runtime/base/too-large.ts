/** The one reason of a server's that who calls an object finds too; apart, so that a page loads no other of them. */
import { Code } from "@connectrpc/connect";
import { errorOf, type HoldfastError } from "./errors.ts";
import { info, type ReasonInfo } from "./reasons.ts";

export const tooLarge: ReasonInfo = info(
  Code.ResourceExhausted,
  "the message is larger than its limit",
  "Send less at once, or raise the server's limit.",
);

/**
 * The error TOO_LARGE.
 *
 * @param what - what happened, in place of the reason's own sentence.
 */
export function tooLargeError(what: string): HoldfastError {
  return errorOf("TOO_LARGE", tooLarge, what, {});
}
