/**
 * S7: a connection with signs is never given up. When all has been well for long enough, no stream is opened again but
 * for a reason: its sign-in ended, its session was gone, or it was so slow that it lagged.
 *
 * The other half, that a connection without signs is given up, shows in `streams`: who sits on one lacks the last item.
 */
import type { WorldEnd } from "../world.ts";

/** In which every dead connection is found, and every wait between two tries is over. */
const convergedMs = 120_000;
/** Who thinks no longer about an item never lags. */
const thinkMsMost = 100;

export function streamSigns({ plan, history }: WorldEnd): readonly string[] {
  // Who gives no signs of life has a session that is gone again and again, and its streams with it.
  if (plan.signInMs !== undefined || !plan.beats) return [];
  const breaches: string[] = [];
  let convergedAt = Infinity;
  for (const event of history.events) {
    if (event.kind === "phase" && event.name === "heal") convergedAt = event.at + convergedMs;
    else if (event.kind === "phase" && event.name === "restart") break;
    else if (event.kind === "gone") return [];
    else if (event.kind === "network" && event.event.kind === "sent" && event.at > convergedAt) {
      const { client = "", url = "" } = event.event.request ?? {};
      if (!url.endsWith("/Follow") || isSlow(plan, client)) continue;
      breaches.push(`${client} opens a stream again although all is well`);
    }
  }
  return breaches;
}

function isSlow(plan: WorldEnd["plan"], client: string): boolean {
  const number = Number(/\d+/.exec(client)?.[0]);
  return plan.ops.some((op) => op.kind === "follow" && op.client === number && op.thinkMs > thinkMsMost);
}
