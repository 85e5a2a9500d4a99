/** What a handler throws to say that nothing happened and that a new try is welcome. */
import { Code, ConnectError } from "@connectrpc/connect";
import { retryDetail } from "../runtime/base/errors.ts";

/**
 * An error that keeps nothing, so that the client's next try runs the handler again: also that of a command
 * with `effects: EXTERNAL`, where every other failure leaves the outcome unknown. Throw it only when nothing
 * has happened yet.
 *
 * @param text - why, for the caller.
 * @param afterMs - how long the client waits at least, in ms, 0 or more. Default 1 s.
 */
export function tryAgain(text: string, afterMs = 1_000): ConnectError {
  const error = new ConnectError(text, Code.Unavailable);
  error.details.push(retryDetail(afterMs));
  return error;
}
