/**
 * The tag of a caller: what a client is given with its first answer and sends with later tries, so that a
 * sign-in that changed between two tries of one call is noticed. `EPOCH.MAC`: only the store that made it
 * can tell what it says, so that a tag of another epoch (a memory server that was started again, a store
 * that was restored) is not compared; the fence refuses such a try if it must be.
 *
 * The fence knows nothing of a call whose first try came after the new epoch began, with a tag of the epoch before. So
 * a client that may have signed in as somebody else since then ends the tag with `!`: it must be the caller's own.
 *
 * Source: design "The journal"; reliability decision D9.
 */
import { surely } from "../../runtime/call/headers.ts";

/** Puts a tag together. Both parts are base64url. */
export function formatTag(epoch: string, mac: string): string {
  return `${epoch}.${mac}`;
}

/** Whether the tag that a client was given surely names another caller than the one of now. */
export function callerChanged(given: string, now: string): boolean {
  if (given.endsWith(surely(""))) return given !== surely(now);
  return epochOf(given) === epochOf(now) && given !== now;
}

function epochOf(tag: string): string {
  return tag.slice(0, tag.indexOf("."));
}
