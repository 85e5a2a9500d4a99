/**
 * How old an entry is, and whether the outbox may still send it. The server's clock decides where the client
 * knows it; a wall clock of this machine that jumps must not throw commands away. Safety does not rest on it:
 * the server refuses what it can no longer know.
 *
 * Source: design "The outbox"; reliability decisions D7, D32.
 */
import type { Clock } from "../base/clock.ts";
import { outboxKeepMs } from "../base/constants.ts";
import type { Ticket } from "../call/ticket.ts";
import type { Shelved } from "./shelf.ts";

/**
 * Whether an entry is too old to be sent.
 *
 * @param madeAt - ms of the monotonic clock at which this process made it; undefined for an earlier one's.
 */
export function isExpired(
  entry: Pick<Shelved, "stamp" | "madeAtMs">,
  madeAt: number | undefined,
  clock: Clock,
  ticket: Ticket,
): boolean {
  if (madeAt !== undefined) return clock.monotonic() - madeAt > outboxKeepMs;
  const firstServerMs = entry.stamp.firstSent?.serverMs;
  if (firstServerMs !== undefined) {
    const serverNowMs = ticket.serverMsAt(clock.monotonic());
    // The first answer tells the server's time; until then nobody knows, and the server itself is asked.
    return serverNowMs !== undefined && serverNowMs - firstServerMs > outboxKeepMs;
  }
  return clock.now() - entry.madeAtMs > outboxKeepMs;
}
